"""What one turn through a kernel's source reads, writes and works out."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from inductorscope.analyze.bytes.index import Space, reach

_NAME = re.compile(r"\w+")


@dataclass(slots=True)
class Access:
    """What the kernel reads or writes through one pointer."""

    reads: dict[str, int] = field(default_factory=dict)
    """Index as written, with its ranges → different elements it reaches."""
    writes: dict[str, int] = field(default_factory=dict)
    exact: bool = True
    """False where masks, values or wrap-around decide: then these are the most there can be."""
    read_first: bool = True
    """False when the kernel itself wrote what it reads."""
    adds: bool = False
    """It adds to what is there: every write is a read as well."""


@dataclass(slots=True)
class SourceWork:
    """Of a kernel's source, with its loops' lengths."""

    accesses: dict[str, Access] = field(default_factory=dict)
    """By pointer."""
    operations: int = 0
    """Arithmetic, comparisons and functions, each as often as it is worked out."""
    reductions: int = 0
    """Of these, the steps of reductions."""
    readable: bool = True
    """False for a source that is written in another way, such as a template's."""

    def note(self, pointer: str, index: str, space: Space, *, store: bool, adds: bool) -> None:
        """A load or a store."""
        access = self.accesses.get(pointer)
        if access is None:
            access = self.accesses[pointer] = Access(read_first=not store or adds)
        found = reach(index, space)
        if found is None:
            access.exact = False
            return
        into = access.writes if store else access.reads
        # The same text in loops of other lengths is another piece.
        ranges = sorted(
            (name, space.ranges[name]) for name in space.decided_by(_NAME.findall(index))
            if name in space.ranges
        )  # fmt: skip
        into[f"{index} {ranges}"] = found.count
        access.exact = access.exact and found.exact
        access.adds = access.adds or adds
