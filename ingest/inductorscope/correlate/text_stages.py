"""Stages whose text names its entities itself: FX graphs, sources, scheduler nodes, the wrapper."""

from __future__ import annotations

import re

from inductorscope.correlate.collect import Collector
from inductorscope.correlate.model import Confidence
from inductorscope.formats.fx import FxText, FxTextNode
from inductorscope.formats.ir import IrText, IrTextNode
from inductorscope.formats.output_code import OutputCode
from inductorscope.formats.scan import lines_of

MOST_LINES_OF_A_NODE = 50
MOST_BUFFERS_OF_A_LINE = 200
_BUFFER = re.compile(r"\b(buf\d+)\b")
_FRAGMENT_NODE = re.compile(r"#\s+%(\w+)\s+[:=]")


def fx_entity(node: FxTextNode, main_class: str) -> str:
    """Names are unique within their class only; nodes of inner graphs carry theirs."""
    if node.graph_class == main_class:
        return f"fx:{node.name}"
    return f"fx:{node.graph_class}/{node.name}"


def main_class(text: FxText) -> str:
    classes = text.graph_classes()
    return classes[0] if classes else ""


def link_fx(collector: Collector, stage: str, text: str, names: dict[int, str]) -> None:
    """`names`: line of a node → entity. A stack comment stands for the nodes below it."""
    collector.stage(stage)
    lines = lines_of(text)
    comment = 0
    for number, line in enumerate(lines, 1):
        stripped = line.strip()
        if stripped.startswith("# File:"):
            comment = number
        elif stripped.startswith(("# No stacktrace", "class ", "def ", "return")):
            comment = 0
        entity = names.get(number)
        if entity is not None and comment:
            collector.add(stage, comment, entity, Confidence.exact)


class _Sources:
    """Links nodes to the user's lines that their stack comments name."""

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self._known: dict[tuple[str, int], str] = {}
        """Stages of the lines that name themselves already."""

    def link(self, node: FxTextNode, entity: str) -> None:
        file, line = node.stack_file, node.stack_line
        if not file or not line:
            return
        stage = self._known.get((file, line))
        if stage is None:
            stage = self._known[file, line] = f"source:{file}"
            self._collector.add(stage, line, f"src:{file}:{line}", Confidence.exact)
        self._collector.add(stage, line, entity, Confidence.exact)


def link_post_grad(collector: Collector, text: str, parsed: FxText) -> dict[tuple[str, str], str]:
    """Link the post-grad graph; returns (class, name) → entity."""
    main = main_class(parsed)
    entities: dict[tuple[str, str], str] = {}
    by_line: dict[int, str] = {}
    sources = _Sources(collector)
    for node in parsed.nodes:
        entity = fx_entity(node, main)
        entities[node.graph_class, node.name] = entity
        by_line[node.line] = entity
        link_node(collector, "post_grad", node, entity)
        sources.link(node, entity)
    link_fx(collector, "post_grad", text, by_line)
    return entities


def link_readable(collector: Collector, text: str, parsed: FxText, post: FxText) -> None:
    """Nodes that kept their name (and operation) into the post-grad graph are that graph's."""
    main = main_class(parsed)
    outermost = main_class(post)
    kept = {(node.graph_class == outermost, node.name): node.op for node in post.nodes}
    by_line: dict[int, str] = {}
    sources = _Sources(collector)
    for node in parsed.nodes:
        entity = fx_entity(node, main)
        if kept.get((node.graph_class == main, node.name)) not in (node.op, _renamed(node.op)):
            entity = "rd:" + entity.removeprefix("fx:")
        by_line[node.line] = entity
        link_node(collector, "readable", node, entity)
        sources.link(node, entity)
    link_fx(collector, "readable", text, by_line)


def link_node(collector: Collector, stage: str, node: FxTextNode, entity: str) -> None:
    if node.last_line == node.line:
        collector.add(stage, node.line, entity, Confidence.exact)
    else:
        last = min(node.last_line, node.line + MOST_LINES_OF_A_NODE)
        collector.add_exact(stage, node.line, last, entity)


def _renamed(op: str) -> str:
    """Post-grad passes turn `view` into `reshape` and functional ops into in-place ones."""
    return "reshape" if op == "view" else op + "_"


def op_entity(node: str, block: str, op: str) -> str:
    return f"op:{node}.{op}" if block == "body" else f"op:{node}.{block}.{op}"


def link_ir(collector: Collector, stage: str, parsed: IrText) -> None:
    """Loop-body lines are operations; heads, stores and outputs name buffers."""
    collector.stage(stage)
    for node in parsed.nodes:
        for buffer in node.buffers:
            collector.add(stage, node.first_line, f"buf:{buffer.name}", Confidence.exact)
        if node.body is None:
            continue
        for block in node.body.blocks.values():
            for op in block.ops:
                entity = op_entity(node.name, block.name, op.name)
                collector.add(stage, op.line, entity, Confidence.exact)
                if op.op in ("load", "store", "store_reduction") and op.arguments:
                    buffer_name = op.arguments[0].strip("'")
                    collector.add(stage, op.line, f"buf:{buffer_name}", Confidence.exact)


def ir_nodes_with_bodies(parsed: IrText) -> dict[str, IrTextNode]:
    return {node.name: node for node in parsed.nodes if node.body is not None}


def link_code(collector: Collector, text: str, code: OutputCode, known: set[str]) -> None:
    """Definitions, quoted graph fragments, calls and the buffers of the wrapper's lines."""
    collector.stage("code")
    lines = lines_of(text)
    for kernel in code.kernels:
        entity = f"kernel:{kernel.name}"
        collector.add_exact("code", kernel.comment_line, kernel.body_last, entity)
        for line in range(kernel.comment_line, kernel.first_line):
            quoted = _FRAGMENT_NODE.match(lines[line - 1])
            if quoted is not None and f"fx:{quoted.group(1)}" in known:
                collector.add("code", line, f"fx:{quoted.group(1)}", Confidence.exact)
    for call in code.calls:
        entity = f"call:{call.kernel}:{call.handle}"
        collector.add("code", call.line, entity, Confidence.exact)
        if not call.extern:
            collector.add("code", call.line, f"kernel:{call.kernel}", Confidence.exact)
    first = max(code.wrapper_first, 1)
    for line, text_of_line in enumerate(lines[first - 1 : code.wrapper_last], first):
        if "buf" in text_of_line:
            names = list(dict.fromkeys(_BUFFER.findall(text_of_line)))
            for name in names[:MOST_BUFFERS_OF_A_LINE]:
                collector.add("code", line, f"buf:{name}", Confidence.exact)
