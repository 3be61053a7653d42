"""How much of a graph is explained: lines of its kernels that compute, and its FX nodes."""

from __future__ import annotations

import re

from inductorscope.correlate.links.model import Confidence, Coverage, GraphLinks
from inductorscope.formats.code.output_code import OutputCode
from inductorscope.formats.graph.fx import FxText
from inductorscope.formats.text import lines_of

# auto tmp2 = …; tmp_acc0 = …; tl.store(out_ptr0 + (x2), …; in_ptr0[…]
_COMPUTES = re.compile(r"\btmp\w*\d|_ptr\d+(\[| \+)")


def coverage_of(links: GraphLinks, post: FxText, code: OutputCode | None, text: str) -> Coverage:
    """Counts each line and node by the highest certainty of its references."""
    best_lines, best_nodes = _surest(links)
    lines = [0, 0, 0, 0]
    """The count without references, and for each confidence."""
    if code is not None:
        texts = lines_of(text)
        for kernel in code.kernels:
            numbered = enumerate(texts[kernel.body_first - 1 : kernel.body_last], kernel.body_first)
            for number, line in numbered:
                if _COMPUTES.search(line):
                    lines[best_lines.get(number, Confidence.kernel)] += 1
    nodes = [0, 0, 0, 0]
    for node in post.main():
        if node.kind == "call":
            nodes[best_nodes.get(f"fx:{node.name}", 0)] += 1
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


def _surest(links: GraphLinks) -> tuple[dict[int, int], dict[str, int]]:
    """For each line of the code, and for each node, the highest certainty of its references."""
    lines: dict[int, int] = {}
    nodes: dict[str, int] = {}
    stage = links.stages.get("code")
    if stage is None:
        return lines, nodes
    fx = [name if name.startswith("fx:") else None for name in links.entities]
    for line, entity, known in zip(stage.lines, stage.entities, stage.confidence, strict=True):
        name = fx[entity]
        if name is not None:
            if lines.get(line, 0) < known:
                lines[line] = known
            if nodes.get(name, 0) < known:
                nodes[name] = known
    return lines, nodes
