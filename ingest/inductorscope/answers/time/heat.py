"""Times of source lines, for the margin of the explorer."""

from collections import defaultdict

import msgspec
from sqlalchemy.orm import Session

from inductorscope.answers.time.lines import LineTime, line_times


class FileHeat(msgspec.Struct, frozen=True):
    """Times of the lines of a source file, as parallel columns."""

    path: str
    lines: list[int]
    time_us: list[float]
    """Time of all kernels that the line is part of."""
    shared_us: list[float]
    """The line's share of that time, by bytes moved; these sum to the kernels' time."""
    share: list[float]
    """`shared_us` divided by the kernels' time."""
    kernels: list[int]
    graphs: list[dict[str, float]]
    """`shared_us` in each graph, by slug, the largest first."""


class Heat(msgspec.Struct, frozen=True):
    """The cost of source lines per step; without files if no kernel's time is known."""

    files: list[FileHeat]


def heat(session: Session, run: str) -> Heat:
    files: dict[str, list[LineTime]] = defaultdict(list)
    for time in line_times(session, run):
        if time.path is not None and time.line is not None:
            files[time.path].append(time)
    return Heat([_heat(path, times) for path, times in files.items()])


def _heat(path: str, times: list[LineTime]) -> FileHeat:
    return FileHeat(
        path=path,
        lines=[time.line for time in times if time.line is not None],
        time_us=[time.time_us for time in times],
        shared_us=[time.shared_us for time in times],
        share=[time.share for time in times],
        kernels=[time.kernels for time in times],
        graphs=[time.graphs for time in times],
    )
