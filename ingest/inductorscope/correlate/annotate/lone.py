"""Links of a listing that comes without IR: an old `output_code.py`, or one pasted from a page.

Its kernels are raised to loop bodies, as for a log without IR. A listing without a wrapper does not
say which memory the kernel's pointers refer to: the order of inputs that explains the kernel best
is used.
"""

from collections import Counter
from itertools import islice, permutations

from inductorscope.correlate.links.collect import Collector
from inductorscope.correlate.links.kernel_nodes import link_kernels, nodes_of_calls
from inductorscope.correlate.links.model import GraphLinks
from inductorscope.correlate.nodes.fx_graph import FxGraph
from inductorscope.correlate.without_ir.lines import add_lines
from inductorscope.correlate.without_ir.walk import NodesOfLines, nodes_of_lines
from inductorscope.formats.code.output_code import (
    CodeCall,
    CodeKernel,
    OutputCode,
    parse_output_code,
)
from inductorscope.formats.graph.fx import FxText, FxTextNode, parse_fx
from inductorscope.formats.graph.provenance import Provenance
from inductorscope.formats.text import lines_of

MOST_ORDERS = 120
"""The most orders of inputs to try."""


def lone_links(text: str, graph: FxText) -> GraphLinks:
    """Kernel lines ↔ nodes of the graph."""
    collector = Collector()
    collector.stage("code")
    code = parse_output_code(text)
    lines = lines_of(text)
    nodes = nodes_of_calls(code, Provenance(), graph.nodes)
    if len(code.kernels) == 1:  # then it computes the whole graph
        for call in code.calls:
            key = (call.kernel, call.handle)
            nodes[key] = nodes[key] or [node.name for node in graph.nodes if node.kind == "call"]
    link_kernels(collector, code, nodes)
    if code.calls:
        links = nodes_of_lines(FxGraph(graph), code, lines, nodes)
    else:
        links = _without_wrapper(code, lines, graph)
    add_lines(collector, links, set(), operations=True)
    return collector.finish()


def _without_wrapper(code: OutputCode, lines: list[str], graph: FxText) -> NodesOfLines:
    """For each kernel, the reading that explains most at the lowest cost."""
    result: NodesOfLines = {}
    inputs = [node.name for node in graph.nodes if node.kind == "placeholder"]
    for number, kernel in enumerate(code.kernels, 1):
        computed = kernel.fragment.nodes or [n.name for n in graph.nodes if n.kind == "call"]
        best: tuple[float, NodesOfLines] | None = None
        for order in islice(permutations(kernel.fragment.inputs or inputs), MOST_ORDERS):
            call = _call(kernel, number, list(order))
            nodes = {(kernel.name, number): computed}
            links = nodes_of_lines(FxGraph(graph), code, lines, nodes, [call])
            rest = links.get((kernel.name, number), [])
            rank = max((each.cost for each in rest), default=100.0) - 0.001 * len(rest)
            if best is None or rank < best[0] - 1e-9:
                best = (rank, links)
        if best is not None:
            result.update(best[1])
    return result


def _call(kernel: CodeKernel, number: int, inputs: list[str]) -> CodeCall:
    names = iter(inputs)
    arguments = [
        next(names, parameter) if parameter.startswith("in_ptr") else f"{parameter}_of_{number}"
        for parameter in kernel.parameters
    ]
    return CodeCall(kernel.name, number, False, 0, arguments)


def graph_nodes(graph: FxText) -> list[FxTextNode]:
    """The nodes of the class with the most calls: a runnable file has other classes too."""
    counts = Counter(n.graph_class for n in graph.nodes if n.target.startswith("torch.ops."))
    best = max(counts, key=counts.__getitem__, default=None)
    return [node for node in graph.nodes if node.graph_class == best]


def graph_in(text: str) -> FxText:
    """The FX graph in the same file as the listing: the text outside kernels and wrapper."""
    code = parse_output_code(text)
    taken = set(range(code.wrapper_first, code.wrapper_last + 1))
    for kernel in code.kernels:
        taken.update(range(kernel.comment_line, kernel.last_line + 1))
    rest = [
        "" if number in taken else line for number, line in enumerate(text.split("\n"), start=1)
    ]
    parsed = parse_fx("\n".join(rest))
    return FxText(
        [n for n in parsed.nodes if n.kind != "call" or n.target.startswith("torch.ops.")]
    )
