"""Whether the figures of a run can be trusted: other programs, or a profile, slowed it down."""

from __future__ import annotations

from inductorscope import urls
from inductorscope.answers.runs.diagnosis.cause import Cause
from inductorscope.answers.runs.diagnosis.evidence import Evidence


def disturbed(evidence: Evidence) -> Cause | None:
    """Something slowed the run down while it was measured."""
    if not evidence.disturbed:
        return None
    return Cause(
        "disturbed",
        evidence.disturbed[0],
        "Capture again while nothing else runs.",
        urls.time(evidence.id),
        why=" ".join((*evidence.disturbed[1:], "Shares of a step are shown instead of times.")),
        urgent=True,
    )


CHECKS = (disturbed,)
