"""Causes in what is compiled one by one: equal blocks, and functions that follow each other."""

from collections import defaultdict

from inductorscope import urls
from inductorscope.analyze.compile.model import Compile
from inductorscope.answers.runs.diagnosis.cause import Cause
from inductorscope.answers.runs.diagnosis.evidence import Evidence
from inductorscope.answers.runs.instances import instances
from inductorscope.formats.vocabulary import FUSED
from inductorscope.units import microseconds, percent, plural, seconds

FEWEST = 3
"""The fewest equal blocks: two may be equal by chance."""
FEWEST_FUNCTIONS = 4
"""The fewest functions that are compiled one by one: a model, its loss and one more are usual."""
MOSTLY = 0.5
"""Share of a step that their fused kernels must take, of which at most this share is saved."""


def equal_blocks(evidence: Evidence) -> Cause | None:
    """The same code is generated again for each of several equal blocks."""
    story = evidence.story.story
    if story is None:
        return None
    compiles = {compile_.id: compile_ for compile_ in story.compiles if compile_.id is not None}
    best: list[Compile] = []
    for group in instances(evidence.session, evidence.id, evidence.graphs):
        ids = dict.fromkeys((row.compile_id or "").strip("[]") for row in group)
        own = [compiles[name] for name in ids if name in compiles]
        anew = [compile_ for compile_ in own if compile_.misses or not compile_.hits]
        if len(anew) >= FEWEST and _seconds(anew) > _seconds(best):
            best = anew
    if not best:
        return None
    whole = max((log.seconds or 0.0 for log in story.logs), default=0.0)
    # The first one has to be compiled in any case, and may have paid for what all need.
    saved = _seconds(best) - max(_seconds([compile_]) for compile_ in best)
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
        + (same if all(compile_.recompile for compile_ in best[1:]) else ""),
        wins_us=1e6 * saved,
        share=saved / whole if whole else None,
        of="compile time",
        known="estimated",
        lines=evidence.line(first.file, first.first_line),
    )


def _seconds(compiles: list[Compile]) -> float:
    return sum(compile_.took_s for compile_ in compiles)


def one_by_one(evidence: Evidence) -> Cause | None:
    """One line calls several compiled functions, between which nothing fuses."""
    story, step = evidence.story.story, evidence.step_us
    if story is None or not step or any(compile_.breaks for compile_ in story.compiles):
        return None
    callers: dict[tuple[str, int], dict[tuple[str, int], Compile]] = defaultdict(dict)
    for compile_ in story.compiles:
        if len(compile_.stack) > 1 and compile_.file and compile_.first_line:
            frame = story.frames[compile_.stack[-2]]
            callers[frame.file, frame.line][compile_.file, compile_.first_line] = compile_
    place, called = max(callers.items(), key=lambda item: len(item[1]), default=(("", 0), {}))
    ids = {compile_.id for compile_ in called.values()}
    graphs = {row.slug for row in evidence.graphs if (row.compile_id or "").strip("[]") in ids}
    fused = (each for each in evidence.kernels if each.category in FUSED and each.graph in graphs)
    us = sum(kernel.us for kernel in fused)
    if len(called) < FEWEST_FUNCTIONS or us < MOSTLY * step:
        return None
    names = ", ".join(f"`{compile_.function}`" for compile_ in [*called.values()][:FEWEST])
    return Cause(
        "one by one",
        f"{plural(len(called), 'function')} are compiled one by one, and one line calls all: their "
        f"fused kernels take {microseconds(us)} of {evidence.step}.",
        "Compile what calls them instead, as a whole: then one kernel can do what several do now.",
        urls.compile_story(evidence.id),
        why=f"Each writes to memory what the next one reads: {names}, …",
        concerns=MOSTLY * us / step,
        lines=evidence.line(*place),
    )


CHECKS = (equal_blocks, one_by_one)
