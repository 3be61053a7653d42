"""The cause that equal blocks of a model are compiled one by one."""

from __future__ import annotations

from inductorscope import urls
from inductorscope.analyze.compile.model import Compile
from inductorscope.answers.runs.diagnosis.cause import Cause
from inductorscope.answers.runs.diagnosis.evidence import Evidence
from inductorscope.answers.runs.instances import instances
from inductorscope.units import percent, plural, seconds

FEWEST = 3
"""The fewest equal blocks: two may be equal by chance."""


def equal_blocks(evidence: Evidence) -> Cause | None:
    """The same code is generated again for each of several equal blocks."""
    story = evidence.story.story
    if story is None:
        return None
    compiles = {each.id: each for each in story.compiles if each.id is not None}
    best: list[Compile] = []
    for group in instances(evidence.session, evidence.id, evidence.graphs):
        ids = dict.fromkeys((row.compile_id or "").strip("[]") for row in group)
        own = [compiles[each] for each in ids if each in compiles]
        anew = [each for each in own if each.misses or not each.hits]
        if len(anew) >= FEWEST and _seconds(anew) > _seconds(best):
            best = anew
    if not best:
        return None
    whole = max((log.seconds or 0.0 for log in story.logs), default=0.0)
    # The first one has to be compiled in any case, and may have paid for what all need.
    saved = _seconds(best) - max(_seconds([each]) for each in best)
    first = best[0]
    took = f"The compiles take {seconds(_seconds(best))}"
    took += f", {percent(_seconds(best) / whole)} of the compile time" if whole else ""
    same = " What the guards tell apart makes no difference to the code."
    return Cause(
        "equal blocks",
        f"`{first.function}` is compiled {plural(len(best), 'time')} to the same code.",
        "Compile it once: decorate it with `torch.compiler.nested_compile_region` and compile the "
        "model that calls it, so that all its calls share one compile.",
        urls.compile_story(evidence.id),
        why=f"{took}: all but the slowest would be saved."
        + (same if all(each.recompile for each in best[1:]) else ""),
        wins_us=1e6 * saved,
        share=saved / whole if whole else None,
        of="compile time",
        known="estimated",
        lines=evidence.line(first.file, first.first_line),
    )


def _seconds(compiles: list[Compile]) -> float:
    return sum(each.took_s for each in compiles)


CHECKS = (equal_blocks,)
