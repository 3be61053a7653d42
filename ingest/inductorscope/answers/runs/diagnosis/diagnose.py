"""Runs every check on a run. A new cause is a function in `step.py` or `compiling.py`, and its name
in the table `CHECKS` there."""

from __future__ import annotations

from inductorscope.answers.limits import NotAnalysed, begin
from inductorscope.answers.runs.diagnosis import compiling, step
from inductorscope.answers.runs.diagnosis.cause import Cause, Cleared, Diagnosis, ranked
from inductorscope.answers.runs.diagnosis.evidence import Evidence


def diagnose(evidence: Evidence) -> Diagnosis:
    found: list[Cause | Cleared] = []
    for check in (*compiling.CHECKS, *step.CHECKS):
        try:
            begin(f"what to change first: {check.__name__}")
            result = check(evidence)
        except NotAnalysed as error:
            result = Cleared(str(error), judged=False)
        if result is not None:
            found.append(result)
    return ranked(found)
