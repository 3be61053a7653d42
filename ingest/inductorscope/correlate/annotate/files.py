"""Annotating files: a debug folder, one `output_code.py` in it, or a single listing."""

from collections import Counter
from itertools import islice, permutations
from pathlib import Path

from inductorscope.correlate.annotate.code import annotate, node_texts
from inductorscope.correlate.directory import NoGraphs, read_texts
from inductorscope.correlate.graph import graph_links
from inductorscope.correlate.links.kernel_nodes import link_kernels, nodes_of_calls
from inductorscope.correlate.links.model import Collector, GraphLinks
from inductorscope.correlate.links.texts import GraphTexts
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
BESIDE = ("fx_graph_transformed.py", "fx_graph_readable.py", "fx_graph_runnable.py")
"""Files searched for the FX graph of a listing, the most reliable first."""


def annotate_file(path: Path, graph: Path | None = None) -> str:
    """The listing with comments. `graph`: the file of its FX graph, if in another folder."""
    texts = read_texts(path)
    text = texts.code or ""
    if not parse_output_code(text).kernels:
        raise NoGraphs(
            f"{path} defines no kernel: no line of it reads `name = async_compile.…(`. "
            "Give the output_code.py that torch.compile wrote."
        )
    if graph is None and texts.post_grad is not None and texts.ir_post is not None:
        nodes = node_texts(texts.post_grad, parse_fx(texts.post_grad))
        return annotate(text, graph_links(texts), nodes)
    written, parsed = _graph_of(path, texts, graph)
    return annotate(text, lone_links(text, parsed), node_texts(written, parsed))


def _graph_of(path: Path, texts: GraphTexts, named: Path | None) -> tuple[str, FxText]:
    """The FX graph's text and nodes: from the named file, a file next to the listing, or the
    listing."""
    looked = [named] if named is not None else [path.parent / name for name in BESIDE]
    for file in looked:
        if file.is_file() and file != path:
            text = file.read_text(encoding="utf-8", errors="replace")
            nodes = graph_nodes(parse_fx(text))
            if nodes:
                return text, FxText(nodes)
    text = texts.code or ""
    pasted = FxText(graph_nodes(graph_in(text)))
    if named is None and pasted.nodes:
        return text, pasted
    if named is not None:
        raise NoGraphs(f"{named} holds no FX graph: no line of it calls `torch.ops.…`.")
    raise NoGraphs(
        f"Neither {path} nor a file next to it holds the FX graph. Put its listing next to "
        f"the code as {BESIDE[2]}, or name its file with --graph."
    )


def lone_links(text: str, graph: FxText) -> GraphLinks:
    """Kernel lines ↔ nodes of the graph, for a listing without IR: its kernels are raised to loop
    bodies."""
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
    """For each kernel, the order of inputs that explains most at the lowest cost: nothing says
    which memory its pointers refer to."""
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
            rank = max((candidate.cost for candidate in rest), default=100.0) - 0.001 * len(rest)
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
