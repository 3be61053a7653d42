"""Finds collectives that not all ranks of a job run, and so never end."""

from inductorscope.analyze.compile.model import Compile, Story
from inductorscope.analyze.ranks.differences import difference_of_schedules


def hang(story: Story) -> str:
    """Returns which rank lacks which collective, as a sentence; empty if none does. Only compiles
    whose collectives are in the logs of both ranks are compared."""
    first: dict[tuple[str | None, int], Compile] = {}
    for compile_ in sorted(story.compiles, key=lambda done: done.rank or 0):
        if compile_.rank is None or compile_.collectives is None:
            continue
        known = first.setdefault((compile_.id, compile_.occurrence), compile_)
        if known.rank == compile_.rank or known.collectives is None:
            continue
        difference = difference_of_schedules(
            known.collectives, compile_.collectives, f"rank {known.rank}", f"rank {compile_.rank}"
        )
        if difference is not None:
            return f"The ranks run different collectives: {difference} of compile {compile_.id}."
    return ""
