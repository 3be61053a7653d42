"""How much of a graph is explained: lines of its kernels that compute, and its FX nodes."""

import re

from inductorscope.correlate.links.certainty import (
    certainty_of_line,
    certainty_of_nodes,
    nodes_of_lines,
)
from inductorscope.correlate.links.model import Confidence, Coverage, GraphLinks
from inductorscope.correlate.links.text_stages import fx_entity, main_class
from inductorscope.formats.code.output_code import OutputCode
from inductorscope.formats.graph.fx import FxText
from inductorscope.formats.text import lines_of

# auto tmp2 = …; tmp_acc0 = …; tl.store(out_ptr0 + (x2), …; in_ptr0[…]
_COMPUTES = re.compile(r"\btmp\w*\d|_ptr\d+(\[| \+)")


def coverage_of(links: GraphLinks, post: FxText, code: OutputCode | None, text: str) -> Coverage:
    """Counts the lines and nodes of each certainty."""
    nodes_of = nodes_of_lines(links)
    of_nodes = certainty_of_nodes(nodes_of)
    lines = [0, 0, 0, 0]
    """The count without references, and for each confidence."""
    if code is not None:
        texts = lines_of(text)
        for kernel in code.kernels:
            numbered = enumerate(texts[kernel.body_first - 1 : kernel.body_last], kernel.body_first)
            for number, line in numbered:
                if _COMPUTES.search(line):
                    lines[certainty_of_line(nodes_of.get(number, {}))] += 1
    nodes = [0, 0, 0, 0]
    outermost = main_class(post)
    functions = code.functions if code is not None else {}
    for node in post.nodes:
        linked = node.graph_class == outermost or node.graph_class.replace("/", "_") in functions
        if node.kind == "call" and linked:
            nodes[of_nodes.get(fx_entity(node, outermost), 0)] += 1
    return Coverage(
        lines=sum(lines),
        lines_exact=lines[Confidence.exact],
        lines_inferred=lines[Confidence.inferred],
        lines_kernel=lines[Confidence.kernel],
        nodes=sum(nodes),
        nodes_exact=nodes[Confidence.exact],
        nodes_inferred=nodes[Confidence.inferred],
        nodes_kernel=nodes[Confidence.kernel],
    )
