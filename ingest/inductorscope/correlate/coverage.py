"""How much of a graph is explained: lines of its kernels that compute, and its FX nodes."""

from __future__ import annotations

import re

from inductorscope.correlate.model import Confidence, Coverage, GraphLinks
from inductorscope.formats.fx import FxText
from inductorscope.formats.output_code import OutputCode
from inductorscope.formats.scan import lines_of

# auto tmp2 = …; tmp_acc0 = …; tl.store(out_ptr0 + (x2), …; in_ptr0[…]
_COMPUTES = re.compile(r"\btmp\w*\d|_ptr\d+(\[| \+)")


def coverage_of(links: GraphLinks, post: FxText, code: OutputCode | None, text: str) -> Coverage:
    """Counts each line and node by the surest of its references."""
    result = Coverage()
    best_lines, best_nodes = _surest(links)
    if code is not None:
        lines = lines_of(text)
        for kernel in code.kernels:
            for number in range(kernel.body_first, kernel.body_last + 1):
                if _COMPUTES.search(lines[number - 1]):
                    result.lines += 1
                    _count(result, "lines", best_lines.get(number, Confidence.kernel))
    for node in post.main():
        if node.kind == "call":
            result.nodes += 1
            known = best_nodes.get(f"fx:{node.name}")
            if known is not None:
                _count(result, "nodes", known)
    return result


def _surest(links: GraphLinks) -> tuple[dict[int, int], dict[str, int]]:
    """For each line of the code, and each node: how the surest reference between them is known."""
    lines: dict[int, int] = {}
    nodes: dict[str, int] = {}
    stage = links.stages.get("code")
    if stage is None:
        return lines, nodes
    for line, entity, known in zip(stage.lines, stage.entities, stage.confidence, strict=True):
        name = links.entities[entity]
        if name.startswith("fx:"):
            lines[line] = max(lines.get(line, 0), known)
            nodes[name] = max(nodes.get(name, 0), known)
    return lines, nodes


def _count(result: Coverage, what: str, known: int) -> None:
    name = f"{what}_{Confidence(known).name}"
    setattr(result, name, getattr(result, name) + 1)
