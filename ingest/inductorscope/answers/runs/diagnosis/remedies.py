"""The remedies for a function's recompiles, each with how many compiles it saves."""

from inductorscope.analyze.compile.recompiles import Change, History
from inductorscope.analyze.compile.remedies import RARE
from inductorscope.analyze.guards.savings import Compiled, needed
from inductorscope.answers.compile.parts import RunStory
from inductorscope.answers.compile.shapes import guard_trees
from inductorscope.units import plural

MOST = 3
COUNTED = ("size", "number", "item", "attribute", "global", "requires_grad", "dtype", "stride",
           "object", "dispatch_key_set", "rank", "type", "none", "alias", "global state",
           "switch", "option", "grad_mode")  # fmt: skip
"""Kinds whose remedy leaves no guard; others leave one compile for each value."""
NOTHING = "Nothing known here saves a compile: other guards fail as well."
RARELY = ("constant", "keys", "length", "fixed size", "condition")


def remedies(
    run_story: RunStory, history: History, changes: list[Change]
) -> tuple[str, float | None]:
    """Returns what to write, the remedy that saves most by itself first, and the time of the
    compiles that it saves; None if that is unknown."""
    compiles = _compiles(run_story, history)
    counted = COUNTED if len(compiles) > 2 else COUNTED[:-1]  # each of two modes needs a compile
    freed = [change for change in changes if change.advice and change.kind in counted][:MOST]
    free = [source for change in freed for source in change.sources]
    alone = {own.source: len(compiles) - len(needed(compiles, own.sources)) for own in freed}
    keys = any(change.kind == "keys" for change in changes)  # then the length follows from them
    advised = [own for own in changes if own.advice and not (keys and own.kind == "length")]
    advised = sorted(advised, key=lambda own: -alone.get(own.source, 0))[:MOST]
    text = []
    for advice in dict.fromkeys(change.advice for change in advised):
        same = [change for change in advised if change.advice == advice]
        names = ", ".join(dict.fromkeys(change.named for change in same))
        text.append(advice if len(advised) == 1 else f"{names}: {advice}")
        if any(change.also for change in same):
            text.append("The same holds for the others that are named.")
        by_itself = alone.get(same[0].source, 0) if same[0].kind in COUNTED else 0
        if by_itself and len(same) == 1 and len(freed) > 1:
            text.append(f"This alone saves {plural(by_itself, 'compile')}.")
    if any(change.kind in RARELY for change in advised):
        text.append(RARE)
    if not compiles or not free:
        return " ".join(text), None
    kept = needed(compiles, free)
    if len(kept) == len(compiles):
        others = [f"{own.named}: {own.advice}" for own in advised if own.source not in free]
        return " ".join(others) or NOTHING, None
    saved = f"{len(compiles) - len(kept)} of {plural(len(compiles), 'compile')}"
    if len(freed) == 1:
        text.append(f"That saves {saved}.")
    else:
        none = "" if any(alone.values()) else ", and none of them alone"
        both = ", ".join(change.named for change in freed)
        text.append(f"{both} together save {saved}{none}.")
    steps = [step.compile for at, step in enumerate(history.steps) if at not in kept]
    return " ".join(text), 1e6 * sum(step.took_s for step in steps)


def _compiles(run_story: RunStory, history: History) -> list[Compiled]:
    """Returns the compiles with their guards; empty if the log lacks some."""
    story = run_story.story
    trees = {compile_.number: tree for compile_, tree in guard_trees(run_story)}
    if story is None or any(step.compile.number not in trees for step in history.steps):
        return []
    hints: dict[int, dict[str, str]] = {}
    for symbol in story.symbols:
        if symbol.value is not None:
            hints.setdefault(symbol.compile, {})[symbol.subject] = symbol.value
    for number, became in story.became.items():
        hints.setdefault(number, {}).update(
            {failure.subject: failure.new for failure in became if failure.new is not None}
        )
    return [
        Compiled(
            step.compile.id or "", trees[step.compile.number], step.failures,
            hints.get(step.compile.number, {}),
        )
        for step in history.steps
    ]  # fmt: skip
