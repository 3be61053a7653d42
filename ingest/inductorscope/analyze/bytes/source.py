"""What one iteration of a kernel's source reads, writes and computes."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable

import msgspec

from inductorscope.analyze.bytes.index import Space, reach

_NAME = re.compile(r"\w+")
DEEPEST = 8
"""Most nested brackets around loads or stores; a source with more is not Inductor's."""


class Access(msgspec.Struct):
    """What the kernel reads or writes through one pointer."""

    reads: dict[str, int] = msgspec.field(default_factory=dict)
    """Index as written, with its ranges → number of different elements that it reaches."""
    writes: dict[str, int] = msgspec.field(default_factory=dict)
    exact: bool = True
    """Whether the counts are exact. If masks, values or wrap-around decide, they are upper
    bounds."""
    read_first: bool = True
    """Whether the kernel reads before it writes. Otherwise it reads what it has written itself."""
    adds: bool = False
    """Whether it adds to memory, so that every write is a read as well."""


class SourceWork(msgspec.Struct):
    """The work in a kernel's source, with the lengths of its loops."""

    accesses: dict[str, Access] = msgspec.field(default_factory=dict)
    """Accesses by pointer."""
    operations: int = 0
    """Arithmetic, comparisons and functions, each counted as often as it is computed."""
    reductions: int = 0
    """Number of these that are steps of reductions."""
    readable: bool = True
    """Whether the source can be read; a template's, for example, has another form."""

    def note(self, pointer: str, index: str, space: Space, *, store: bool, adds: bool) -> None:
        """Records a load or a store."""
        access = self.accesses.get(pointer)
        if access is None:
            access = self.accesses[pointer] = Access(read_first=not store or adds)
        elements = reach(index, space)
        if elements is None:
            access.exact = False
            return
        into = access.writes if store else access.reads
        # The same index in loops of other lengths reaches other elements.
        ranges = sorted(
            (name, space.ranges[name]) for name in space.decided_by(_NAME.findall(index))
            if name in space.ranges
        )  # fmt: skip
        into[f"{index} {ranges}"] = elements.count
        access.exact = access.exact and elements.exact
        access.adds = access.adds or adds


class SourceReader(ABC):
    """Reads the source of a kernel line by line. `numbers` are the values of the kernel's number
    parameters."""

    def __init__(self, numbers: dict[str, int]) -> None:
        self.work = SourceWork()
        self.space = Space(numbers=dict(numbers))
        self.foreign = False
        """Whether it has what Inductor does not generate."""

    def read_all(self, lines: list[str]) -> SourceWork:
        """Reads the lines of the kernel's function."""
        for line in lines:
            self.read(line.strip())
        self.work.readable = bool(self.work.accesses) and not self.foreign
        return self.work

    @abstractmethod
    def read(self, line: str) -> None:
        """Reads one line, without its indentation."""

    def each_use(
        self, pattern: re.Pattern[str], line: str, use: Callable[[re.Match[str]], int]
    ) -> None:
        """Passes each load and store in a line to `use`, which returns where it ends."""
        around: list[int] = []
        """Ends of those that the next one is nested in."""
        for match in pattern.finditer(line):
            while around and around[-1] <= match.start():
                around.pop()
            if len(around) == DEEPEST:
                self.foreign = True
                break
            around.append(use(match))
