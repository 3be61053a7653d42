"""Joining the profile's kernel times to the kernels of the code.

A Triton kernel is told by the file it was launched from, which its comment in the output code names
too. Otherwise a name counts, and the graph call it ran in; where a name belongs to two graphs and
nothing tells them apart, no time is given and the kernel says so.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from ..formats.kineto import ChromeTrace, Region
from ..store.draft import GraphDraft, KernelDraft
from .graph import GraphRead

# graph_0_cpp_fused_add_1, as the profiler names what the code calls cpp_fused_add_1
_CPU_PREFIX = re.compile(r"^graph_\d+_(?=cpp_)")
# torch.ops.aten.mm.default, extern_kernels.mm
_EXTERN = re.compile(r"^(?:extern_kernels|aten|torch\.ops\.(\w+))\.(\w+)")

# What the code calls → the operators inside of it that launch the work. A profile names the latter.
_INSIDE = {
    "aten::convolution": (
        "aten::cudnn_convolution", "aten::miopen_convolution", "aten::_slow_conv2d_forward",
        "aten::_conv_depthwise2d", "aten::slow_conv3d_forward", "aten::slow_conv_dilated2d",
    ),
    "aten::bias_addmm": ("aten::addmm",),
    "aten::_scaled_dot_product_cudnn_attention": ("aten::_cudnn_attention_forward",),
    "aten::_scaled_dot_product_cudnn_attention_backward": ("aten::_cudnn_attention_backward",),
    "aten::_scaled_dot_product_flash_attention": ("aten::_flash_attention_forward",),
    "aten::_scaled_dot_product_flash_attention_backward": ("aten::_flash_attention_backward",),
    "aten::_scaled_dot_product_efficient_attention": ("aten::_efficient_attention_forward",),
    "aten::_scaled_dot_product_efficient_attention_backward": (
        "aten::_efficient_attention_backward",
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Place:
    """A kernel in its graph."""

    graph: GraphRead
    kernel: KernelDraft


@dataclass(slots=True)
class _Sum:
    calls: int = 0
    total_us: float = 0.0
    how: str = ""
    regions: set[int] = field(default_factory=set)
    """Those whose calls of an operator were counted."""


@dataclass(frozen=True, slots=True)
class Joined:
    """How well the profile explains the code."""

    steps: int
    steps_from: str
    kernel_us: float
    """Of one step: device time, or on a CPU that of generated kernels and extern calls."""
    attributed_us: float


class _Index:
    """Kernels of all graphs by file and by name."""

    def __init__(self, graphs: list[GraphRead]) -> None:
        self.by_file: dict[str, list[_Place]] = {}
        self.by_name: dict[str, list[_Place]] = {}
        self.tokens: list[tuple[GraphRead, frozenset[str]]] = []
        for graph in graphs:
            tokens: set[str] = set()
            for kernel in graph.draft.kernels:
                place = _Place(graph, kernel)
                if kernel.kind == "extern":
                    name = _operator(kernel.name)
                    for operator in (name, *_INSIDE.get(name, ())) if name else ():
                        self.by_name.setdefault(operator, []).append(place)
                    continue
                self.by_name.setdefault(kernel.name, []).append(place)
                tokens.add(kernel.name)
                path = kernel.facts.get("kernel_path")
                if isinstance(path, str):
                    self.by_file.setdefault(_base(path), []).append(place)
                    tokens.add(_base(path))
            self.tokens.append((graph, frozenset(tokens)))

    def graph_of(self, region: Region) -> GraphRead | None:
        """The graph whose kernels a region launched; None when two fit equally well."""
        seen = {_base(_CPU_PREFIX.sub("", name)) for name in region.kernels}
        if not seen:
            return None
        fits = sorted(
            ((len(seen & tokens), -len(tokens), place) for place, (_, tokens) in self._numbered()),
            reverse=True,
        )
        if not fits or fits[0][0] * 2 < len(seen):
            return None
        if len(fits) > 1 and fits[0][:2] == fits[1][:2]:
            return None
        return self.tokens[fits[0][2]][0]

    def _numbered(self) -> Iterable[tuple[int, tuple[GraphRead, frozenset[str]]]]:
        return enumerate(self.tokens)


def join_times(trace: ChromeTrace, graphs: list[GraphRead], steps: int | None) -> Joined:
    """Gives kernels their time of one step. `steps`: calls that were profiled, where known."""
    index = _Index(graphs)
    regions = [index.graph_of(region) for region in trace.regions]
    count, steps_from = _steps(trace, regions, steps)
    sums: dict[int, tuple[KernelDraft, _Sum]] = {}
    torn: dict[int, tuple[KernelDraft, str]] = {}

    def give(name: str, file: str | None, region: int | None, calls: int, total_us: float) -> bool:
        graph = None if region is None else regions[region]
        places, how = _places(index, name, file)
        told = "" if graph is None else ", told apart by the graph's call"
        inside = [place for place in places if graph is None or place.graph is graph]
        if len(inside) == 1:
            kernel = inside[0].kernel
            _, total = sums.setdefault(id(kernel), (kernel, _Sum()))
            if kernel.kind != "extern" or region is None:
                total.calls += calls
            elif region not in total.regions:
                # One call of an operator may launch several kernels; the code has each call once.
                total.regions.add(region)
                total.calls += kernel.call_count * trace.regions[region].calls
            total.total_us += total_us
            total.how = how + (told if len(places) > 1 else "")
            return True
        for place in inside:
            torn[id(place.kernel)] = (place.kernel, _ambiguous(inside, total_us / count))
        return False

    explained = 0.0
    for kernel in trace.kernels:
        given = kernel.kind == "kernel" and (
            give(kernel.name, kernel.kernel_file, kernel.region, kernel.calls, kernel.total_us)
            or (
                # An operator counts for a graph only inside its call: eager code has them too.
                kernel.op is not None
                and kernel.kernel_file is None
                and kernel.region is not None
                and regions[kernel.region] is not None
                and give(kernel.op, None, kernel.region, kernel.calls, kernel.total_us)
            )
        )
        explained += kernel.total_us if given else 0.0
    whole = trace.device_us
    if not trace.kernels:
        for cpu in trace.cpu_kernels:
            given = give(cpu.name, None, cpu.region, cpu.calls, cpu.total_us)
            explained += cpu.total_us if given else 0.0
            whole += cpu.total_us
        for number, region in enumerate(trace.regions):
            for op in region.ops.values():
                inside = regions[number] is not None and op.name in index.by_name
                if inside and not _CPU_PREFIX.match(op.name):
                    given = give(op.name, None, number, op.calls, op.total_us)
                    explained += op.total_us if given else 0.0
                    whole += op.total_us
    _write(sums, torn, count, graphs)
    return Joined(count, steps_from, whole / count, explained / count)


def _places(index: _Index, name: str, file: str | None) -> tuple[list[_Place], str]:
    if file is not None:
        places = index.by_file.get(_base(file), [])
        named = [place for place in places if place.kernel.name == name]
        if places:
            return named or places, "joined by the kernel's file"
        if index.by_file:
            return index.by_name.get(name, []), "joined by name, its file being of another compile"
    return index.by_name.get(name, []), "joined by name"


def _ambiguous(places: list[_Place], each_us: float) -> str:
    slugs = sorted({place.graph.source.slug for place in places})
    names = " and ".join(slugs[:3]) + (f" and {len(slugs) - 3} more" if len(slugs) > 3 else "")
    if len(slugs) == 1:
        return f"{each_us:.3g} µs could belong to {len(places)} kernels of {names}: not attributed"
    return (
        f"{each_us:.3g} µs of this name could belong to {names}, "
        "nothing in the profile tells: not attributed"
    )


def _steps(trace: ChromeTrace, graphs: list[GraphRead | None], told: int | None) -> tuple[int, str]:
    if told:
        return told, "as recorded beside the profile"
    if trace.steps:
        return trace.steps, "profiler steps"
    calls = Counter(
        region.calls
        for region, graph in zip(trace.regions, graphs, strict=True)
        if graph is not None
    )
    if calls:
        return max(1, calls.most_common(1)[0][0]), "calls of the compiled graphs"
    return 1, "the whole profile, which does not count steps"


def _write(
    sums: dict[int, tuple[KernelDraft, _Sum]],
    torn: dict[int, tuple[KernelDraft, str]],
    count: int,
    graphs: list[GraphRead],
) -> None:
    for kernel, total in sums.values():
        kernel.time_us = total.total_us / count
        kernel.time_calls = total.calls / count
        kernel.time_source = total.how
    for kernel, why in torn.values():
        if kernel.time_us is None:
            kernel.time_source = why
        else:
            kernel.time_source = f"{kernel.time_source}; a further {why}"
    for graph in graphs:
        _sum_graph(graph.draft)


def _sum_graph(graph: GraphDraft) -> None:
    known = [kernel.time_us for kernel in graph.kernels if kernel.time_us is not None]
    graph.time_us = sum(known) if known else None


def _operator(name: str) -> str | None:
    """`extern_kernels.mm` → `aten::mm`: what the profiler calls it."""
    found = _EXTERN.match(name)
    return f"{found.group(1) or 'aten'}::{found.group(2)}" if found else None


def _base(path: str) -> str:
    return PurePosixPath(path).name
