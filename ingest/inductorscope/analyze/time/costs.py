"""The cost of lines and nodes of the code per step, from the times of kernels.

A call has the time that `analyze.time.call_times` found for it; without one, its kernel's time
divided by the number of its calls. Every node and line of a call gets all of its time
(`inclusive_us`) and a share of it (`shared_us`, see `shares`); shares sum to the time of all
kernels.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from inductorscope.analyze.time.extern_nodes import nodes_in_order
from inductorscope.formats.graph.fx_nodes import FxNode

# f32[4, 256][256, 1]cuda:0
_TENSOR = re.compile(r"^([a-z]\w*+)\[([^\[\]]{0,400})\]")
_BITS = re.compile(r"^(?:bf|f|i|u|c|b)(\d{1,3})")
_VIEWS = re.compile(
    r"(?:^|[.:])(?:_?(?:unsafe_)?view(?:_copy|_as\w*|_dtype)?|_?reshape(?:_alias)?|permute|transpose"
    r"|t|expand|slice|select|unsqueeze|squeeze|alias|detach|as_strided|getitem|split(?:_with_sizes)?"
    r"|unbind|chunk|diagonal|unfold|movedim|swapaxes|flatten|lift_fresh_copy|sym_\w+)"
    r"(?:\.\w+)?(?:>)?$"
)
LARGEST = 2**62


def tensor_bytes(annotation: str | None) -> int:
    """Bytes of a tensor by its FX annotation; 0 for anything else."""
    match = _TENSOR.match(annotation or "")
    bits = _BITS.match(match.group(1)) if match else None
    if match is None or bits is None:
        return 0
    count = 1
    for size in match.group(2).split(","):
        size = size.strip()
        if size.isdecimal() and size.isascii():
            count = min(count * int(size[:18]), LARGEST)
    return max(1, count * int(bits.group(1)) // 8)


def is_view(target: str) -> bool:
    return _VIEWS.search(target) is not None


def moved_bytes(name: str, nodes: Mapping[str, FxNode]) -> int:
    """Bytes that a node reads and writes on its own."""
    node = nodes.get(name)
    if node is None or is_view(node.target):
        return 0
    read = sum(tensor_bytes(nodes[source].annotation) for source in node.inputs if source in nodes)
    return read + tensor_bytes(node.annotation)


def shares(names: Iterable[str], nodes: Mapping[str, FxNode]) -> dict[str, float]:
    """Returns each node's share of a call that computes these nodes; the shares sum to 1 if there
    are nodes."""
    moved = {name: moved_bytes(name, nodes) for name in names}
    total = sum(moved.values())
    if total:
        return {name: count / total for name, count in moved.items()}
    return dict.fromkeys(moved, 1 / len(moved)) if moved else {}


MEASURED, SHARED = "measured", "shared"
"""How a call's time is known: by the order of launches, or as an equal part of the time of several
calls."""

Line = tuple[str, int]


class TimedKernel(msgspec.Struct, frozen=True):
    id: int
    name: str
    extern: bool
    time_us: float | None


class CallSite(msgspec.Struct, frozen=True):
    kernel: int
    """Number of the kernel's row."""
    nodes: list[str]
    """Nodes that the call computes, if known."""
    time_us: float | None = None
    """Its own time, if known."""


class TimedGraph(msgspec.Struct, frozen=True):
    """A graph with timed kernels."""

    id: int
    nodes: Sequence[FxNode]
    kernels: list[TimedKernel]
    sites: list[CallSite]
    """Calls in the order of the wrapper."""


class LineCostRow(msgspec.Struct, frozen=True):
    path: str | None
    line: int | None
    kernels: int
    inclusive_us: float
    shared_us: float
    parts: list[list[float]]
    """[number of the kernel's row, shared µs], longest first; they sum to the line's."""


class NodeCostRow(msgspec.Struct, frozen=True):
    name: str
    target: str
    line: int
    kernels: int
    inclusive_us: float
    shared_us: float


class Costs(msgspec.Struct):
    """Costs of a run, the highest first."""

    lines: list[LineCostRow] = msgspec.field(default_factory=list)
    nodes: dict[int, list[NodeCostRow]] = msgspec.field(default_factory=dict)
    """Nodes by the graph's row."""


class _Sum(msgspec.Struct):
    shared: dict[int, float] = msgspec.field(default_factory=lambda: defaultdict(float))
    """Shared time by the kernel's row."""
    inclusive_us: float = 0.0


class _TimedCall(msgspec.Struct, frozen=True):
    kernel: int
    time_us: float
    nodes: list[str]


def costs_of(graphs: Iterable[TimedGraph]) -> Costs:
    """Returns the costs of a run from its graphs, in their order."""
    costs = Costs()
    lines: dict[Line | None, _Sum] = defaultdict(_Sum)
    for graph in graphs:
        calls = _timed_calls(graph)
        if calls:
            costs.nodes[graph.id] = _cost_of_graph(graph.nodes, calls, lines)
    costs.lines = sorted(
        (_line_row(where, total) for where, total in lines.items()),
        key=lambda row: (-row.shared_us, row.path or "", row.line or 0),
    )
    return costs


def _cost_of_graph(
    nodes: Sequence[FxNode], calls: list[_TimedCall], lines: dict[Line | None, _Sum]
) -> list[NodeCostRow]:
    named = {node.name: node for node in nodes}
    where = {
        node.name: (node.stack_file, node.stack_line)
        for node in nodes
        if node.stack_file and node.stack_line
    }
    of_node: dict[str, _Sum] = defaultdict(_Sum)
    for call in calls:
        part = shares([name for name in call.nodes if name in named], named)
        touched: set[Line | None] = set()
        for name, share in part.items():
            of_node[name].inclusive_us += call.time_us
            of_node[name].shared[call.kernel] += call.time_us * share
            lines[where.get(name)].shared[call.kernel] += call.time_us * share
            touched.add(where.get(name))
        if not part:
            lines[None].shared[call.kernel] += call.time_us
            touched.add(None)
        for line in touched:
            lines[line].inclusive_us += call.time_us
    rows = [
        NodeCostRow(
            name=node.name,
            target=node.target,
            line=node.line,
            kernels=len(of_node[node.name].shared),
            inclusive_us=of_node[node.name].inclusive_us,
            shared_us=sum(of_node[node.name].shared.values()),
        )
        for node in nodes
        if node.name in of_node
    ]
    return sorted(rows, key=lambda row: (-row.shared_us, row.line))


def _line_row(where: Line | None, total: _Sum) -> LineCostRow:
    path, line = where if where is not None else (None, None)
    parts = sorted(total.shared.items(), key=lambda item: -item[1])
    return LineCostRow(
        path=path,
        line=line,
        kernels=len(parts),
        inclusive_us=total.inclusive_us,
        shared_us=sum(us for _, us in parts),
        parts=[[kernel, us] for kernel, us in parts],
    )


def _timed_calls(graph: TimedGraph) -> list[_TimedCall]:
    names = {kernel.id: kernel.name for kernel in graph.kernels if kernel.extern}
    nodes = [site.nodes for site in graph.sites]
    unknown = [
        (number, names[site.kernel])
        for number, site in enumerate(graph.sites)
        if site.kernel in names and not site.nodes
    ]
    if unknown:
        # A generated kernel's name can include an operator whose results it only rearranges.
        claimed = {name for site in graph.sites if site.kernel in names for name in site.nodes}
        targets = {node.name: node.target for node in graph.nodes}
        for number, name in nodes_in_order(unknown, targets, claimed).items():
            nodes[number] = [name]
    numbers: dict[int, list[int]] = defaultdict(list)
    for number, site in enumerate(graph.sites):
        numbers[site.kernel].append(number)
    calls = []
    for kernel in graph.kernels:
        if kernel.time_us is not None:
            mine = numbers[kernel.id]
            each = kernel.time_us / max(len(mine), 1)
            own = [graph.sites[number].time_us for number in mine]
            timed = any(us is not None for us in own)
            calls += [
                _TimedCall(kernel.id, (us or 0.0) if timed else each, nodes[number])
                for number, us in zip(mine, own, strict=True)
            ]
            if not mine:
                calls.append(_TimedCall(kernel.id, kernel.time_us, []))
    return calls
