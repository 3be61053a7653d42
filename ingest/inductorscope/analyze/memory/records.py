"""The plan of a wrapper's memory, as records."""

from typing import Literal

import msgspec

from inductorscope.fields import Bytes
from inductorscope.formats.code.layouts import Layout
from inductorscope.formats.code.wrapper_lines import LineKind

Role = Literal["input", "constant", "intermediate", "output"]
Known = Literal["exact", "hint", "unknown"]


class Touch(msgspec.Struct):
    """A kernel call that reads or writes the memory."""

    line: int
    kernel: str
    handle: int
    pointer: str
    """The kernel's parameter; empty for library kernels, whose parameters have no names in the
    text."""
    reads: bool
    writes: bool
    name: str
    """The buffer name that it used."""


class Holding(msgspec.Struct):
    """A name of the memory, and the lines between which it refers to it."""

    name: str
    first: int
    last: int
    layout: Layout
    made_by: str = ""
    """The scheduler node that makes this buffer, if the IR is available."""
    ir_line: int | None = None


class Storage(msgspec.Struct):
    """One piece of memory, under all its successive names."""

    number: int
    role: Role
    nbytes: int | None
    known: Known
    reason: str
    """Why its size is unknown, or which values of symbols it is computed with."""
    device: str
    born: int
    """Line of its allocation; of inputs and constants, the wrapper's first."""
    freed: int
    """Line after which it is freed; of outputs, the wrapper's last."""
    holdings: list[Holding] = msgspec.field(default_factory=list)
    touches: list[Touch] = msgspec.field(default_factory=list)
    inside: int | None = None
    """The pool it is part of; only the pool's bytes count."""
    reuses: int = 0
    """How often another buffer reused the memory."""

    @property
    def name(self) -> str:
        return self.holdings[0].name if self.holdings else f"memory {self.number}"


class Step(msgspec.Struct):
    """A line of the wrapper that affects memory, and the bytes allocated after it."""

    line: int
    kind: LineKind
    text: str
    change: int
    """Change of the bytes that the wrapper holds."""
    live: int
    """Bytes allocated by the wrapper."""
    inputs: Bytes
    """Bytes of inputs not yet freed."""
    kernel: str = ""
    handle: int = 0


class Reuse(msgspec.Struct):
    """A buffer that reuses the memory of one that is no longer needed."""

    line: int
    name: str
    before: str
    nbytes: int | None
    in_place: str
    """The call that reads the old content and writes the new; empty if the old content was no
    longer needed."""


class PlanTotals(msgspec.Struct):
    """Totals of a wrapper's memory. Sizes are those of tensors, before an allocator rounds them."""

    reuses: list[Reuse] = msgspec.field(default_factory=list)
    device: str = ""
    """The device with the most allocated memory; `steps` and the peak are of its memory alone."""
    other_devices: dict[str, Bytes] = msgspec.field(default_factory=dict)
    """Bytes allocated on other devices."""
    peak: int = 0
    peak_line: int = 0
    peak_with_inputs: int = 0
    allocated: int = 0
    """Sum of all allocations."""
    avoided: int = 0
    """Sum of the allocations that reuse avoided."""
    input_bytes: int = 0
    constant_bytes: int = 0
    output_bytes: int = 0
    hints: dict[str, int] = msgspec.field(default_factory=dict)
    """Values of symbols used for sizes."""
    unknown: list[int] = msgspec.field(default_factory=list)
    """Numbers of storages of unknown size: sums leave them out."""
    first_line: int = 0
    last_line: int = 0
    cpp: bool = False


class MemoryPlan(PlanTotals):
    """The totals and the individual lines."""

    steps: list[Step] = msgspec.field(default_factory=list)
    storages: list[Storage] = msgspec.field(default_factory=list)
    peak_storages: list[int] = msgspec.field(default_factory=list)
    """Numbers of the storages allocated at the peak, the largest first."""

    def totals(self) -> PlanTotals:
        return PlanTotals(*(getattr(self, name) for name in PlanTotals.__struct_fields__))
