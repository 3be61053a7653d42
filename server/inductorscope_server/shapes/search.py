"""What was found."""

from __future__ import annotations

from inductorscope_server.shapes.base import Moment, RunName, Shape


class RoleChoice(Shape):
    """A kind of text to search in."""

    role: str
    title: str


class RunFound(RunName):
    """A run whose name, tag, version, device, graph or kernel holds all words."""

    state: str
    created_at: Moment
    torch_version: str | None
    graph_count: int
    kernel_count: int


class KernelFound(Shape):
    """A kernel whose name holds all words."""

    run: RunName
    graph: str
    name: str
    handle: int | None
    kind: str
    category: str
    time_us: float | None
    url: str | None
    """Its page; null for a kernel that nothing calls."""


class LineFound(Shape):
    """A line that holds what was asked for."""

    line: int
    text: str
    """The line, or the part of a long one around the first match."""
    marks: list[tuple[int, int]]
    """Where in `text` the matches begin and end, in characters."""
    kernel: str | None
    """The kernel whose code it is."""
    url: str
    """The line in the explorer, or in the file where the explorer does not show it."""


class PlaceFound(Shape):
    """A stored file that holds the text."""

    run: RunName
    reading: bool
    artifact: int
    path: str
    role: str
    graph: str | None
    url: str


class TextFound(Shape):
    """What was found in one text, which several runs and graphs may hold."""

    place: PlaceFound
    title: str
    """What kind of text it is."""
    hits: list[LineFound]
    more: bool
    """Whether it holds further lines; give its `artifact` as `file` to see them all."""
    elsewhere: list[PlaceFound]
    """Other graphs and runs that hold the same text, a few of them."""
    other_graphs: int
    """Further graphs of the same run."""
    other_runs: int


class FileName(Shape):
    """The one stored file that is searched."""

    artifact: int
    path: str
    run: RunName


class SearchPage(Shape):
    """Search `/search`. `q`, `run`, `role` and `file` repeat what was asked for."""

    q: str
    too_short: bool
    """True when `q` has too few letters and digits to look for."""
    run: RunName | None
    role: str
    file: FileName | None
    roles: list[RoleChoice]
    runs: list[RunFound]
    more_runs: bool
    kernels: list[KernelFound]
    more_kernels: bool
    texts: list[TextFound]
    exact: bool
    """False when no line holds `q` as it stands: then lines that hold all its words."""
    line_count: int
    looked_at: int
    """Texts that were read for this page."""
    next_cursor: str | None
    """Give it as `cursor` for more; null when everything was looked at."""
    any_runs: bool
