"""Learns about graph breaks from the names of resumed functions.

Dynamo compiles the code after a break in line 113 of `f` as `torch_dynamo_resume_in_f_at_113`.
Torch until 2.4 records only why Dynamo restarted, without a place, and not for every break. For
these versions, the names give the places, and reveal breaks that nothing else records.
"""

import re
from collections import defaultdict
from functools import lru_cache
from itertools import pairwise

from inductorscope.analyze.compile.model import Compile, GraphBreak, Story

_RESUMED = re.compile(r"^torch_dynamo_resume_in_(.{1,300})_at_(\d{1,9})$")


@lru_cache(4096)
def resumed(function: str) -> tuple[str, int | None]:
    """The user's function of a frame, and the line after which it resumes."""
    match = _RESUMED.match(function)
    if match is None:
        return function, None
    name, line = match.groups()
    return resumed(name)[0], int(line)


def place_breaks(story: Story) -> None:
    """Completes the breaks of logs in which no break has a place."""
    placed = {graph_break.log for graph_break in story.breaks if graph_break.file is not None}
    breaks: dict[int, list[GraphBreak]] = defaultdict(list)
    for graph_break in story.breaks:
        breaks[graph_break.compile].append(graph_break)
    functions: dict[tuple[int, str | None, str], list[Compile]] = defaultdict(list)
    for compile_ in story.compiles:
        if compile_.log not in placed and compile_.function:
            key = compile_.log, compile_.file, resumed(compile_.function)[0]
            functions[key].append(compile_)
    for compiles in functions.values():
        story.breaks += _of_function(compiles, breaks)


def _of_function(compiles: list[Compile], breaks: dict[int, list[GraphBreak]]) -> list[GraphBreak]:
    """Gives places to the breaks of a function's pieces; returns breaks that were not recorded.

    A piece is compiled right after the one that breaks, unless it was compiled before.
    """
    ends: dict[int | None, int] = {}
    """Line after which a piece starts → line of the break that ends it."""
    added: list[GraphBreak] = []
    for first, after in pairwise(compiles):
        start, line = _line(first), _line(after)
        if line is None or line in ends.values():
            continue  # no piece, or one whose break is known
        ends[start] = line
        if not breaks[first.number]:
            lost = GraphBreak(first.number, first.log, after.line, file=None, at=None, title="")
            first.breaks += 1
            breaks[first.number].append(lost)
            added.append(lost)
    for compile_ in compiles:
        for graph_break in breaks[compile_.number]:
            graph_break.file, graph_break.at = compile_.file, ends.get(_line(compile_))
    return added


def _line(compile_: Compile) -> int | None:
    return resumed(compile_.function or "")[1]
