"""Joins the profile's kernel times to the kernels of the code.

A Triton kernel is recognised by the file that it was launched from, which a comment in the output
code names too, or by the hash in the file's name. Other kernels are recognised by their name and
the graph call that they ran in. If a name belongs to two graphs that cannot be distinguished, the
kernel gets no time and says so.
"""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePosixPath

import msgspec

from inductorscope.analyze.time.call_times import LIBRARY, call_times
from inductorscope.analyze.time.facts import PER_CALL
from inductorscope.analyze.time.order import LaunchOrder
from inductorscope.analyze.totals import known_sum
from inductorscope.formats.trace.kineto import ChromeTrace, KernelTime, Region
from inductorscope.formats.vocabulary import BACKWARD
from inductorscope.reading.graphs.graph import GraphRead
from inductorscope.store.runs.draft import GraphDraft, KernelDraft
from inductorscope.units import microseconds

# graph_0_cpp_fused_add_1, as the profiler names what the code calls cpp_fused_add_1
_CPU_PREFIX = re.compile(r"^graph_\d+_(?=cpp_)")
# torch.ops.aten.mm.default, extern_kernels.mm
_EXTERN = re.compile(r"^(?:extern_kernels|aten|torch\.ops\.(\w+))\.(\w+)")

NO_KERNEL = -1
COPIES_INPUTS = "aten::_foreach_copy_"
"""With it torch copies inputs before a recorded graph starts; not a library kernel of the code."""
BY_CALLS = "matched by the order of the wrapper's calls"

# The code's name → the operators that launch the work, which a profile names.
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


def repetitions(calls: Sequence[int]) -> int:
    """How often the shortest sequence of calls that repeats makes up all of them."""
    count = len(calls)
    for length in range(1, count // 2 + 1):
        if count % length == 0 and calls[length:] == calls[:-length]:
            return count // length
    return 1


class _Place(msgspec.Struct, frozen=True):
    """A kernel and its graph."""

    graph: GraphRead
    kernel: KernelDraft


class _Sum(msgspec.Struct):
    calls: int = 0
    total_us: float = 0.0
    how: str = ""
    regions: set[int] = msgspec.field(default_factory=set)
    """Regions whose calls of an operator were counted."""


class Joined(msgspec.Struct, frozen=True):
    """How much of the profile's time the code's kernels explain."""

    steps: int
    steps_from: str
    kernel_us: float
    """Time of one step: on a device, or on a CPU the time of generated kernels and extern calls."""
    attributed_us: float
    by: dict[str, float]
    """The same, by how the code's kernel was recognised."""
    kernels: list[KernelDraft | None]
    """The code's kernel for each kernel of the trace."""
    cpu_ops: dict[tuple[int, str], KernelDraft]
    """On a CPU: region and operator, or the trace's name of a generated kernel → the code's
    kernel."""


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

    def graph_of(self, region: Region, names: set[str]) -> GraphRead | None:
        """The graph whose kernels a region launched; None if two fit equally well. `names`: names
        of the device kernels that it launched.

        Of graphs with the same kernels, the smaller one fits better. Then the compile id of the
        region around the call decides; a backward graph's call is in none, but its forward was.
        """
        generated = frozenset[str]().union(*(tokens for _, tokens in self.tokens))
        seen = {_base(_CPU_PREFIX.sub("", name)) for name in region.kernels} | (names & generated)
        fits = sorted(
            (
                (len(seen & tokens), -len(tokens) if seen else 0, _fits(region, graph.draft), place)
                for place, (graph, tokens) in enumerate(self.tokens)
            ),
            reverse=True,
        )
        if not fits or fits[0][0] * 2 < len(seen) or (not seen and not fits[0][2]):
            return None
        if len(fits) > 1 and fits[0][:3] == fits[1][:3]:
            return None
        return self.tokens[fits[0][3]][0]


def _fits(region: Region, graph: GraphDraft) -> int:
    """Rates how well a graph fits a call, by everything but its kernels."""
    points = 0
    compile_id = region.compile_id or region.backward_of
    if compile_id is not None and graph.compile_id is not None:
        points += 2 * (compile_id == graph.compile_id.strip("[]"))
    backward = graph.direction == BACKWARD
    return points + (backward == (region.compile_id is None))


class _Join:
    """Gives the kernels of graphs the times of a trace."""

    def __init__(self, trace: ChromeTrace, graphs: list[GraphRead]) -> None:
        self.trace = trace
        self.index = _Index(graphs)
        compiled = bool(trace.kernels) and all(kernel.compiled for kernel in trace.kernels)
        self.alone = len(graphs) == 1 and not trace.regions and compiled
        """Whether the whole trace is of one module that ran by itself."""
        names: dict[int | None, set[str]] = {}
        for kernel in trace.kernels:
            names.setdefault(kernel.region, set()).add(kernel.name)
        self.regions = [
            self.index.graph_of(region, names.get(number, set()))
            for number, region in enumerate(trace.regions)
        ]
        self.sums: dict[int, tuple[KernelDraft, _Sum]] = {}
        self.torn: dict[int, tuple[KernelDraft, list[_Place], float]] = {}
        self.by: dict[str, float] = {}
        self.kernels: list[KernelDraft | None] = []
        self.cpu_ops: dict[tuple[int, str], KernelDraft] = {}
        self.whole_us = 0.0

    def all(self) -> None:
        if self.trace.kernels:
            for kernel in self.trace.kernels:
                self.whole_us += kernel.total_us
                self.kernels.append(self._device(kernel))
            return
        for cpu in self.trace.cpu_kernels:
            self.whole_us += cpu.total_us
            found = self._give(cpu.name, None, cpu.region, cpu.calls, cpu.total_us)
            if found is not None and cpu.region is not None:
                self.cpu_ops[cpu.region, f"graph_{cpu.graph_id}_{cpu.name}"] = found
        for number, region in enumerate(self.trace.regions):
            for op in region.ops.values():
                inside = self.regions[number] is not None and op.name in self.index.by_name
                if inside and not _CPU_PREFIX.match(op.name):
                    self.whole_us += op.total_us
                    found = self._give(op.name, None, number, op.calls, op.total_us)
                    if found is not None:
                        self.cpu_ops[number, op.name] = found

    def _device(self, kernel: KernelTime) -> KernelDraft | None:
        if kernel.kind != "kernel":
            return None
        times = (kernel.region, kernel.calls, kernel.total_us)
        file = kernel.kernel_file or (f"{kernel.kernel_hash}.py" if kernel.kernel_hash else None)
        found = self._give(kernel.name, file, *times)
        if found is not None or kernel.op is None or kernel.triton:
            return found
        # An operator counts for a graph only inside its call, because eager code calls it too.
        if kernel.region is None:
            return self._give(kernel.op, None, *times) if self.alone else None
        if self.regions[kernel.region] is None:
            return None
        return self._give(kernel.op, None, *times)

    def _give(
        self, name: str, file: str | None, region: int | None, calls: int, total_us: float
    ) -> KernelDraft | None:
        graph = None if region is None else self.regions[region]
        places, how = _places(self.index, name, file)
        within = "" if graph is None else ", within the graph's call"
        inside = [place for place in places if graph is None or place.graph is graph]
        if len(inside) != 1:
            for place in inside:
                _, _, us = self.torn.get(id(place.kernel), (place.kernel, inside, 0.0))
                self.torn[id(place.kernel)] = (place.kernel, inside, us + total_us)
            return None
        kernel = inside[0].kernel
        _, total = self.sums.setdefault(id(kernel), (kernel, _Sum()))
        if kernel.kind != "extern" or region is None:
            total.calls += calls
        elif region not in total.regions:
            # One call of an operator may launch several kernels, but is one call in the code.
            total.regions.add(region)
            total.calls += kernel.call_count * self.trace.regions[region].calls
        total.total_us += total_us
        total.how = how + (within if len(places) > 1 else "")
        self.by[total.how] = self.by.get(total.how, 0.0) + total_us
        return kernel

    def steps(self, recorded: int | None) -> tuple[int, str]:
        """Returns how many calls of the program the trace covers, and the source of that number."""
        if recorded:
            return recorded, "as recorded beside the profile"
        if self.trace.steps:
            return self.trace.steps, "profiler steps"
        of_graphs = [number for number, graph in enumerate(self.regions) if graph is not None]
        spans = [
            (span.ts, number) for number in of_graphs for span in self.trace.regions[number].spans
        ]
        turns = repetitions([number for _, number in sorted(spans)])
        if len(of_graphs) > 1 and turns > 1:
            return turns, "repetitions of the compiled graphs' calls"
        calls = Counter(self.trace.regions[number].calls for number in of_graphs)
        if len(of_graphs) == 1:
            return max(1, max(calls)), PER_CALL
        if calls:
            return max(1, calls.most_common(1)[0][0]), "calls of the compiled graphs"
        ratios = Counter(
            total.calls // kernel.call_count
            for kernel, total in self.sums.values()
            if kernel.kind != "extern"
            and kernel.call_count
            and total.calls % kernel.call_count == 0
        )
        if ratios:
            return max(1, ratios.most_common(1)[0][0]), "runs of the code's kernels"
        return 1, "the whole profile, which does not count steps"

    def write(self, count: int) -> None:
        """Gives kernels their time per step."""
        for kernel, total in self.sums.values():
            kernel.time_us = total.total_us / count
            kernel.time_calls = total.calls / count
            kernel.time_source = total.how
        for kernel, places, us in self.torn.values():
            why = _ambiguous(places, us / count)
            if kernel.time_us is None:
                kernel.time_source = why
            else:
                kernel.time_source = f"{kernel.time_source}; a further {why}"

    def write_calls(
        self, graphs: list[GraphRead], orders: Sequence[LaunchOrder], count: int
    ) -> None:
        """Gives calls their time per step. Kernels without a time get the sum of their calls: a
        recorded graph does not name the operators that launched its library kernels."""
        for graph in graphs:
            draft = graph.draft
            own = [order for order in orders if self.regions[order.region] is graph]
            if not own or not draft.call_order:
                continue
            place = {id(kernel): number for number, kernel in enumerate(draft.kernels)}
            totals = {
                place[key]: total.total_us for key, (_, total) in self.sums.items() if key in place
            }
            library = {n for n, kernel in enumerate(draft.kernels) if kernel.kind == "extern"}
            items = [(order, self._kernels_of(order, place)) for order in own]
            times = call_times(draft.call_order, items, totals, count, library)
            sums: dict[int, float] = {}
            runs: dict[int, int] = {}
            for (position, number), time in times.items():
                draft.call_times[number] = time
                sums[position] = sums.get(position, 0.0) + time.time_us
                runs[position] = runs.get(position, 0) + time.runs
            for position, us in sums.items():
                kernel = draft.kernels[position]
                more = us * count - totals.get(position, 0.0)
                kernel.time_us = us
                if position not in totals:
                    kernel.time_calls = runs[position] / count or None
                    kernel.time_source = BY_CALLS
                if more > 0:
                    self.by[BY_CALLS] = self.by.get(BY_CALLS, 0.0) + more

    def _kernels_of(self, order: LaunchOrder, place: dict[int, int]) -> list[int | None]:
        """Returns, for each item, its kernel's position in the graph."""
        kernels: list[int | None] = []
        for item in order.items:
            if item.op == COPIES_INPUTS or (order.replayed and item.op is not None):
                kernels.append(NO_KERNEL)
                continue
            if item.rows:
                named = (self.kernels[row] for row in item.rows)
                found = next((kernel for kernel in named if kernel is not None), None)
            else:
                found = self.cpu_ops.get((order.region, item.op or ""))
            unknown = LIBRARY if (item.op or "").startswith("aten::") else None
            kernels.append(unknown if found is None else place.get(id(found)))
        return kernels


def join_times(
    trace: ChromeTrace,
    graphs: list[GraphRead],
    steps: int | None,
    orders: Sequence[LaunchOrder] = (),
    *,
    write: bool = True,
) -> Joined:
    """Gives kernels and their calls their time per step. `steps`: profiled calls, if known; without
    `write`, it only finds the code's kernel for each kernel of the trace."""
    join = _Join(trace, graphs)
    join.all()
    count, steps_from = join.steps(steps)
    if write:
        join.write(count)
        join.write_calls(graphs, orders, count)
        for graph in graphs:
            graph.draft.time_us = known_sum(kernel.time_us for kernel in graph.draft.kernels)
    return Joined(
        steps=count,
        steps_from=steps_from,
        kernel_us=join.whole_us / count,
        attributed_us=sum(join.by.values()) / count,
        by={how: us / count for how, us in join.by.items()},
        kernels=join.kernels,
        cpu_ops=join.cpu_ops,
    )


def _places(index: _Index, name: str, file: str | None) -> tuple[list[_Place], str]:
    if file is not None:
        places = index.by_file.get(_base(file), [])
        named = [place for place in places if place.kernel.name == name]
        if places:
            return named or places, "matched by the kernel's file"
        if index.by_file:
            return index.by_name.get(name, []), "matched by name: its file is of another compile"
    return index.by_name.get(name, []), "matched by name"


def _ambiguous(places: list[_Place], each_us: float) -> str:
    slugs = sorted({place.graph.source.slug for place in places})
    names = " and ".join(slugs[:3]) + (f" and {len(slugs) - 3} more" if len(slugs) > 3 else "")
    if len(slugs) == 1:
        return (
            f"{microseconds(each_us)} could belong to {len(places)} kernels of {names}: "
            "not attributed"
        )
    return (
        f"{microseconds(each_us)} of this name could belong to {names}, "
        "nothing in the profile tells: not attributed"
    )


def _operator(name: str) -> str | None:
    """`extern_kernels.mm` → `aten::mm`, the profiler's name."""
    found = _EXTERN.match(name)
    return f"{found.group(1) or 'aten'}::{found.group(2)}" if found else None


def _base(path: str) -> str:
    return PurePosixPath(path).name
