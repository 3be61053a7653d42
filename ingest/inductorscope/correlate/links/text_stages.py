"""Links stages whose text names its entities: FX graphs, sources, scheduler nodes, the wrapper."""

import re
from collections.abc import Iterable

from inductorscope.correlate.links.model import Collector, Confidence
from inductorscope.formats.code.output_code import OutputCode
from inductorscope.formats.graph.fx import FxText, FxTextNode
from inductorscope.formats.graph.ir import IrText
from inductorscope.formats.text import lines_of
from inductorscope.formats.vocabulary import CODE, POST_GRAD, READABLE

MOST_LINES_OF_A_NODE = 50
MOST_BUFFERS_OF_A_LINE = 200
_BUFFER = re.compile(r"\b(\w*buf\d+)\b")
_FRAGMENT_NODE = re.compile(r"#\s+%(\w+)\s+[:=]")


def fx_entity(node: FxTextNode, main_class: str) -> str:
    """The entity of a node. Names are unique within a class, so nodes of inner graphs include
    it."""
    if node.graph_class == main_class:
        return f"fx:{node.name}"
    return f"fx:{node.graph_class}/{node.name}"


def main_class(text: FxText) -> str:
    classes = text.graph_classes()
    return classes[0] if classes else ""


def link_fx(collector: Collector, stage: str, nodes: Iterable[tuple[FxTextNode, str]]) -> None:
    """Links nodes to their entities. A stack comment refers to the nodes below it and to the user's
    line."""
    own: list[tuple[int, str]] = []
    sources: dict[str, list[tuple[int, str]]] = {}
    for node, entity in nodes:
        line = node.line
        last = min(node.last_line, line + MOST_LINES_OF_A_NODE)
        own += [(number, entity) for number in range(line, last + 1)]
        if node.comment_line:
            own.append((node.comment_line, entity))
        file = node.stack_file
        if file and node.stack_line:
            sources.setdefault(file, []).append((node.stack_line, entity))
    collector.add_lines(stage, own)
    for file, lines in sources.items():
        collector.add_lines(f"source:{file}", lines)


def _link_sources(collector: Collector, nodes: list[FxTextNode]) -> None:
    """Links the user's lines to themselves."""
    named = {(node.stack_file, node.stack_line) for node in nodes if node.stack_line}
    for file, line in sorted(named):
        if file:
            collector.add_lines(f"source:{file}", [(line, f"src:{file}:{line}")])


def link_post_grad(collector: Collector, parsed: FxText) -> None:
    main = main_class(parsed)
    link_fx(collector, POST_GRAD, [(node, fx_entity(node, main)) for node in parsed.nodes])
    _link_sources(collector, parsed.nodes)


def link_readable(collector: Collector, parsed: FxText, post: FxText) -> None:
    """Links the readable graph. Nodes with the same name and operation in the post-grad graph are
    that graph's."""
    main = main_class(parsed)
    outermost = main_class(post)
    kept = {(node.graph_class == outermost, node.name): node.op for node in post.nodes}
    named = []
    for node in parsed.nodes:
        entity = fx_entity(node, main)
        # Passes turn `view` into `reshape` and others in-place.
        renamed = "reshape" if node.op == "view" else node.op + "_"
        if kept.get((node.graph_class == main, node.name)) not in (node.op, renamed):
            entity = "rd:" + entity.removeprefix("fx:")
        named.append((node, entity))
    link_fx(collector, READABLE, named)
    _link_sources(collector, parsed.nodes)


def op_entity(node: str, block: str, op: str) -> str:
    return f"op:{node}.{op}" if block == "body" else f"op:{node}.{block}.{op}"


def link_ir(collector: Collector, stage: str, parsed: IrText) -> None:
    """Links the IR: loop-body lines are operations; heads, stores and outputs name buffers."""
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


def link_code(
    collector: Collector, text: str, code: OutputCode, known: dict[str, dict[str, str]]
) -> None:
    """Links definitions, quoted graph fragments, calls and the buffers of the wrapper's lines.
    `known`: function of the wrapper → the nodes that it computes, each with what stands before its
    name."""
    lines = lines_of(text)
    first_call = {call.kernel: call.inside for call in reversed(code.calls)}
    references: list[tuple[int, str]] = []
    for kernel in code.kernels:
        collector.add_exact(CODE, kernel.comment_line, kernel.body_last, f"kernel:{kernel.name}")
        nodes = known.get(first_call.get(kernel.name, ""), {})
        for line in range(kernel.comment_line, kernel.first_line):
            quoted = _FRAGMENT_NODE.match(lines[line - 1])
            if quoted is not None and quoted.group(1) in nodes:
                # The comment above a kernel says what it computes, not on which line.
                entity = f"fx:{nodes[quoted.group(1)]}{quoted.group(1)}"
                collector.add(CODE, line, entity, Confidence.kernel)
    for call in code.calls:
        references.append((call.line, f"call:{call.kernel}:{call.handle}"))
        if not call.extern:
            references.append((call.line, f"kernel:{call.kernel}"))
    first = max(code.wrapper_first, 1)
    for line, text_of_line in enumerate(lines[first - 1 : code.wrapper_last], first):
        if "buf" in text_of_line:
            names = list(dict.fromkeys(_BUFFER.findall(text_of_line)))
            references += [(line, f"buf:{name}") for name in names[:MOST_BUFFERS_OF_A_LINE]]
    collector.add_lines(CODE, references)
