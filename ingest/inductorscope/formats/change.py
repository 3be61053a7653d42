"""A change to a program that a trial applies while the program runs; its files stay as they are."""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec

MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
CUDA_GRAPHS = "triton.cudagraphs"
_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


class Mark(msgspec.Struct, frozen=True):
    """A size that differs between calls: dimension of an argument of a compiled function."""

    function: str
    """The function's name; of a compiled module, its class or `forward`."""
    argument: str
    dimension: int
    how: Literal["dynamic", "unbacked"] = "dynamic"

    def __str__(self) -> str:
        return f"{self.argument}.size({self.dimension})"


class Change(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """What differs from the program as it is."""

    mode: str | None = None
    """`mode=` of each `torch.compile`."""
    dynamic: bool | None = None
    """`dynamic=` of each `torch.compile`."""
    inductor: dict[str, str] = {}
    """Keys of torch._inductor.config, and their values as Python literals."""
    dynamo: dict[str, str] = {}
    """Keys of torch._dynamo.config."""
    float32_products: Literal["", "high", "medium"] = ""
    """The argument of `torch.set_float32_matmul_precision`."""
    marks: tuple[Mark, ...] = ()
    ignored: tuple[str, ...] = ()
    """Functions that only log, by their full name; Dynamo leaves their calls out."""
    reordered: tuple[str, ...] = ()
    """Functions that only print, by their full name; Dynamo calls them after the graph."""
    no_grad: bool = False
    """Calls compiled functions under `torch.no_grad()`."""
    optimizer: bool = False
    """Compiles the step of each optimizer."""
    channels_last: bool = False
    """Keeps the weights of each compiled module in the memory format `channels_last`."""
    regions: Literal["", "nested", "blocks"] = ""
    """Compiles the repeated blocks of each compiled module once: as regions inside of one graph, or
    one by one."""
    threads: int = 0
    """Threads of torch on the CPU; 0: as they are."""
    workers: int = 0
    """Workers of each `DataLoader` that has none; 0: as they are."""

    def problem(self) -> str:
        """Returns why this is no valid change, as a sentence; empty if it is one."""
        if self.mode is not None and self.mode not in MODES:
            return f"The mode is {self.mode!r}; it must be one of {', '.join(MODES)}."
        names = [*self.inductor, *self.dynamo, *self.ignored, *self.reordered]
        names += [name for mark in self.marks for name in (mark.function, mark.argument)]
        for name in names:
            if not _NAME.fullmatch(name):
                return f"{name!r} is not a name."
        for what, count in (("threads", self.threads), ("workers", self.workers)):
            if not 0 <= count <= 1024:
                return f"The number of {what} is {count}; it must be 1 to 1024."
        return ""

    @property
    def acts_without_code(self) -> bool:
        """Whether it can change the time of a step although the generated code stays the same."""
        graphs = self.inductor.get(CUDA_GRAPHS, "False") == "True"
        return bool(
            graphs or self.float32_products or self.threads or self.channels_last or self.workers
            or (self.mode or "default") in ("reduce-overhead", "max-autotune")
        )  # fmt: skip

    @property
    def text(self) -> str:
        """The change as JSON, as the API takes it."""
        return msgspec.json.encode(self).decode()

    @property
    def title(self) -> str:
        """What is set, such as `dynamic=True`."""
        fields = {field: getattr(self, field) for field in self.__struct_fields__}
        values = {**fields, **self.inductor, **self.dynamo, "inductor": None, "dynamo": None}
        written = {
            name: " ".join(map(str, value)) if isinstance(value, tuple) else value
            for name, value in values.items()
        }
        return ", ".join(f"{name}={value}" for name, value in written.items() if value)

    def beside(self, other: Change) -> Change:
        """Returns both changes together; where both set the same, the other's value counts."""
        unset = Change()
        joined: dict[str, Any] = {}
        for field in self.__struct_fields__:
            ours, theirs = getattr(self, field), getattr(other, field)
            if isinstance(ours, dict):
                joined[field] = ours | theirs
            elif isinstance(ours, tuple):
                joined[field] = tuple(dict.fromkeys(ours + theirs))
            else:
                joined[field] = ours if theirs == getattr(unset, field) else theirs
        return Change(**joined)

    def agrees_with(self, other: Change) -> bool:
        """Whether both can be made together: nothing is set to two values."""
        return self.beside(other) == other.beside(self)
