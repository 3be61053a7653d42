"""The plan of a wrapper's memory, as records."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Literal

from inductorscope.formats.code.layouts import Layout
from inductorscope.formats.code.wrapper_lines import LineKind

Role = Literal["input", "constant", "intermediate", "output"]
Known = Literal["exact", "hint", "unknown"]


@dataclass(slots=True)
class Touch:
    """A kernel's call that reads or writes the memory."""

    line: int
    kernel: str
    handle: int
    pointer: str
    """The kernel's parameter; empty for a library's, which have none that the text names."""
    reads: bool
    writes: bool
    name: str
    """By which of its names."""


@dataclass(slots=True)
class Holding:
    """A name that the memory had, from a line to a line."""

    name: str
    first: int
    last: int
    layout: Layout
    made_by: str = ""
    """The scheduler's node that makes this buffer, where the IR is at hand."""
    ir_line: int | None = None


@dataclass(slots=True)
class Storage:
    """One piece of memory, under all names it has in turn."""

    number: int
    role: Role
    nbytes: int | None
    known: Known
    reason: str
    """Why its size is not known, or from which values of symbols it is worked out."""
    device: str
    born: int
    """Line; of inputs and constants the wrapper's first."""
    freed: int
    """Line after which it is gone; of outputs the wrapper's last."""
    holdings: list[Holding] = field(default_factory=list)
    touches: list[Touch] = field(default_factory=list)
    inside: int | None = None
    """The pool it is a part of, whose bytes count in its stead."""
    reuses: int = 0
    """How often another buffer took over the memory."""

    @property
    def name(self) -> str:
        return self.holdings[0].name if self.holdings else f"memory {self.number}"


@dataclass(slots=True)
class Step:
    """A line of the wrapper that concerns memory, and what is held after it."""

    line: int
    kind: LineKind
    text: str
    change: int
    """Bytes that the wrapper holds more, or less, than before it."""
    live: int
    """Bytes of what the wrapper itself allocated."""
    inputs: int
    """Bytes of inputs that it has not let go of."""
    kernel: str = ""
    handle: int = 0


@dataclass(slots=True)
class Reuse:
    """A buffer that took the memory of one that was no longer needed."""

    line: int
    name: str
    before: str
    nbytes: int | None
    in_place: str
    """The call that reads the old and writes the new content; empty where the old was dead."""


@dataclass(slots=True)
class PlanTotals:
    """What a wrapper does to memory, in sums. Sizes are those of tensors, before any allocator
    rounds."""

    reuses: list[Reuse] = field(default_factory=list)
    device: str = ""
    """The one that holds most; `steps` and the peak are of its memory alone."""
    other_devices: dict[str, int] = field(default_factory=dict)
    """Bytes allocated in all on further devices."""
    peak: int = 0
    peak_line: int = 0
    peak_with_inputs: int = 0
    peak_with_inputs_line: int = 0
    peak_without_reuse: int = 0
    """What the peak would be if each buffer were allocated anew."""
    allocated: int = 0
    """Sum of all allocations."""
    avoided: int = 0
    """Sum of the allocations that reuse made unnecessary."""
    input_bytes: int = 0
    constant_bytes: int = 0
    output_bytes: int = 0
    hints: dict[str, int] = field(default_factory=dict)
    """Values of symbols that sizes were worked out with."""
    unknown: list[int] = field(default_factory=list)
    """Numbers of storages whose size no text states: sums leave them out."""
    first_line: int = 0
    last_line: int = 0
    cpp: bool = False


@dataclass(slots=True)
class MemoryPlan(PlanTotals):
    """The totals, and line by line what they are made of."""

    steps: list[Step] = field(default_factory=list)
    storages: list[Storage] = field(default_factory=list)
    peak_storages: list[int] = field(default_factory=list)
    """Numbers of what was held at the peak, the largest first."""

    def totals(self) -> PlanTotals:
        return PlanTotals(**{each.name: getattr(self, each.name) for each in fields(PlanTotals)})
