"""Annotating files: a debug folder, one `output_code.py` in it, or a single listing."""

from pathlib import Path

from inductorscope.correlate.annotate.code import annotate, node_texts
from inductorscope.correlate.annotate.lone import graph_in, graph_nodes, lone_links
from inductorscope.correlate.directory import NoGraphs, read_texts
from inductorscope.correlate.graph import graph_links
from inductorscope.correlate.links.texts import GraphTexts
from inductorscope.formats.code.output_code import parse_output_code
from inductorscope.formats.graph.fx import FxText, parse_fx

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
