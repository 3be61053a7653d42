"""Compares eager with compiled: how the time of each group of operators changed, and what became of
each operator.

Both sides are sums of a step that never overlap: device work by the operator that launched it or,
on a processor, self times of operators. Each group is compared with the same group, and all that
Inductor fuses (element-wise operations, reductions, copies) with its fused kernels.

Inductor names a fused kernel after the operators it replaced, in alphabetical order.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from inductorscope.analyze.time.extern_nodes import operation
from inductorscope.analyze.time.kernel_names import family_of
from inductorscope.formats.code.short_names import split_names
from inductorscope.formats.vocabulary import (
    ATTENTION,
    COMMUNICATION,
    CONVOLUTION,
    FUSED,
    GEMM,
    MEMCPY,
    MEMSET,
    OTHER,
    OVERHEAD,
    TRITON_TEMPLATE,
    USER_TRITON,
)

GROUPS = {
    GEMM: "matrix products",
    CONVOLUTION: "convolutions",
    ATTENTION: "attention",
    COMMUNICATION: "communication",
    OTHER: "element-wise, reductions, copies",
    OVERHEAD: "compiled code's overhead",
}
# triton_per_fused_add_mean_0, graph_0_cpp_fused_gelu_view_2
_FUSED_NAME = re.compile(
    r"^(?=\w+$)(?:\w*?_)?(?:triton_[a-z]{3}|cpp(?:_[A-Z]\w{0,100})?)_fused_(\w+?)(?:_\d+)?$"
)
# Operators of the graph with other names in eager.
_RUNS_AS = {
    "_to_copy": ("copy",), "clone": ("copy",), "embedding": ("index_select", "embedding"),
    "relu": ("clamp_min", "relu"), "zeros": ("zero", "fill"), "zeros_like": ("zero", "fill"),
    "ones": ("fill",), "full": ("fill",), "full_like": ("fill",), "new_zeros": ("zero", "fill"),
    "constant_pad_nd": ("constant_pad_nd", "fill", "copy"), "rsub": ("sub",),
    "threshold_backward": ("threshold_backward",), "new_full": ("fill",), "cat": ("cat",),
    "_softmax": ("_softmax",), "slice_backward": ("slice_backward", "copy"),
    "_unsafe_view": (), "masked_fill": ("masked_fill",), "copy": ("copy",),
}  # fmt: skip


class Entry(msgspec.Struct, frozen=True):
    """Work of one side per step."""

    name: str
    op: str | None
    category: str
    calls: float
    us: float


class GroupChange(msgspec.Struct):
    """One group on both sides."""

    group: str
    eager_us: float
    compiled_us: float
    """Time of the same group and of the kernels that replaced it."""
    eager_calls: float
    compiled_calls: float
    of_fused_us: float = 0.0
    """The part of `compiled_us` in fused kernels."""


class OpChange(msgspec.Struct):
    """An eager operator and what replaced it."""

    op: str
    eager_calls: float
    eager_us: float
    compiled_calls: float
    compiled_us: float
    """Time that still runs under its name, or under the name of the library call that replaced
    it."""
    now: list[str] = msgspec.field(default_factory=list)
    """Names of the kernels with that time."""
    fused_kernels: int = 0
    """Number of kernels named after it."""


class Comparison(msgspec.Struct):
    eager_us: float
    compiled_us: float
    groups: list[GroupChange]
    ops: list[OpChange]
    steps: int = 1
    """Steps that the sums were divided by."""
    eager_steps: int = 1
    eager_steps_told: bool = True
    """Whether the eager profile says its steps; otherwise as many as compiled ones are assumed."""
    on_device: bool = False


def compare(eager: Sequence[Entry], compiled: Sequence[Entry]) -> Comparison:
    """Compares both sides. Each list has the slowest first; group sums equal those of the
    entries."""
    return Comparison(
        eager_us=sum(entry.us for entry in eager),
        compiled_us=sum(entry.us for entry in compiled),
        groups=_groups(eager, compiled),
        ops=_ops(eager, compiled),
    )


def _group_of(entry: Entry) -> str:
    if entry.category == OVERHEAD:
        return OVERHEAD
    if entry.category in FUSED or entry.category in (MEMCPY, MEMSET, USER_TRITON):
        return OTHER
    if entry.category == TRITON_TEMPLATE:
        return CONVOLUTION if "conv" in entry.name else GEMM
    return family_of(entry.name, entry.op or entry.name)


def code_group(kernel: str, category: str) -> str:
    """The group of a kernel of the code, by its name there: `extern_kernels.mm`."""
    op = operation(kernel)
    return _group_of(Entry(kernel if category in FUSED else op, op, category, 0, 0))


def _groups(eager: Sequence[Entry], compiled: Sequence[Entry]) -> list[GroupChange]:
    groups: dict[str, GroupChange] = {}
    for entry in eager:
        change = groups.setdefault(_group_of(entry), GroupChange("", 0, 0, 0, 0))
        change.eager_us += entry.us
        change.eager_calls += entry.calls
    for entry in compiled:
        change = groups.setdefault(_group_of(entry), GroupChange("", 0, 0, 0, 0))
        change.compiled_us += entry.us
        change.compiled_calls += entry.calls
        if entry.category in FUSED:
            change.of_fused_us += entry.us
    for group, change in groups.items():
        change.group = GROUPS[group]
    return sorted(groups.values(), key=lambda row: -max(row.eager_us, row.compiled_us))


def _ops(eager: Sequence[Entry], compiled: Sequence[Entry]) -> list[OpChange]:
    """Returns eager operators with the time that still runs under their names."""
    before: dict[str, OpChange] = {}
    for entry in eager:
        name = entry.op or entry.name
        change = before.setdefault(name, OpChange(name, 0, 0, 0, 0))
        change.eager_calls += entry.calls
        change.eager_us += entry.us
    rest: dict[str, list[Entry]] = defaultdict(list)
    for entry in compiled:
        if entry.category in FUSED or entry.category == OVERHEAD:
            continue
        name = entry.op or entry.name
        rest[name if name in before else _stands_for(name, before)].append(entry)
    named = _named_after(before, compiled)
    for name, change in before.items():
        change.compiled_calls = sum(entry.calls for entry in rest[name])
        change.compiled_us = sum(entry.us for entry in rest[name])
        change.now = sorted({entry.op or entry.name for entry in rest[name]})[:4]
        change.fused_kernels = named.get(name, 0)
    return sorted(before.values(), key=lambda change: -change.eager_us)


def _stands_for(name: str, before: dict[str, OpChange]) -> str:
    """The eager operator that a library call in compiled code replaced: the longest of its family.

    `mkl::_mkl_linear` stands for `aten::addmm`, which `aten::linear` calls.
    """
    family = family_of(name, name)
    alike = [op for op in before if family != OTHER and family_of(op, op) == family]
    return max(alike, key=lambda op: before[op].eager_us, default=name)


def fused_ops(kernel: str, known: Iterable[str] = ()) -> list[str]:
    """`triton_per_fused_add_native_layer_norm_1` → `add`, `native_layer_norm`."""
    match = _FUSED_NAME.match(kernel)
    return list(dict.fromkeys(split_names(match.group(1), known))) if match else []


def _plain(op: str) -> str:
    """`aten::add_` → `add`."""
    return op.rpartition("::")[2].rstrip("_") or op


def _named_after(before: dict[str, OpChange], compiled: Sequence[Entry]) -> dict[str, int]:
    """Eager operator → number of fused kernels with its name."""
    by_plain: dict[str, list[str]] = defaultdict(list)
    for op in before:
        by_plain[_plain(op)].append(op)
    kernels = {entry.name for entry in compiled if entry.category in FUSED}
    replaced: Counter[str] = Counter()
    for kernel in kernels:
        ops = fused_ops(kernel, by_plain)
        names = {name for op in ops for name in _RUNS_AS.get(op, (op.rstrip("_"),))}
        replaced.update(eager for name in names & by_plain.keys() for eager in by_plain[name])
    return replaced
