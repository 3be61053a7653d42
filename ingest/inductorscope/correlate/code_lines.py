"""Lines of kernels → operations and FX nodes, over every call of every kernel."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator

from inductorscope.correlate.kernel_comments import kernel_comments
from inductorscope.correlate.links.collect import Collector
from inductorscope.correlate.links.model import Confidence
from inductorscope.correlate.links.text_stages import op_entity
from inductorscope.correlate.nodes.fx_graph import FxGraph
from inductorscope.correlate.nodes.lowerings import AROUND
from inductorscope.correlate.nodes.origins import OpKey, Origins
from inductorscope.correlate.nodes.walk import find_origins
from inductorscope.correlate.replay.kernel_lines import (
    KernelText,
    LineOps,
    align_call,
    read_kernel_text,
)
from inductorscope.correlate.replay.schedule import (
    CallSite,
    argument_buffer,
    call_sites,
    shape_of,
    unpacked_outputs,
)
from inductorscope.correlate.replay.small_floats import dumped_operation
from inductorscope.formats.code.output_code import OutputCode
from inductorscope.formats.graph.ir import IrText
from inductorscope.formats.text import lines_of

DOUBTFUL = 1.0
"""A reading of a loop body with a higher cost is shown as a guess within its kernel."""

_ONE_EXPRESSION = frozenset(["add", "sub", "mul", "truediv", "neg", "hypot", "to_dtype"])
"""Operations written as one expression, which take few lines even over all loops of a kernel."""
_MOST_OF_EXPRESSION, _MOST_IN_TRITON, _MOST_OF_LOAD = 10, 20, 40
"""The most lines of a sure operation in a kernel. In C++ others may take more: library functions
are written element by element, masked blocks as a whole."""

_NAME = re.compile(r"\w+")
OpPlace = tuple[int, int, str, str]
"""(line, index of the call's node, block, operation)"""


def link_lines(
    collector: Collector,
    code: OutputCode,
    text: str,
    ir: IrText,
    graph: FxGraph,
    nodes: dict[tuple[str, int], list[str]],
    recorded: set[str],
) -> Origins:
    """`ir`: scheduler nodes after fusion. `nodes`: call → all its nodes, where known.
    `recorded`: calls that need no inference."""
    lines = lines_of(text)
    sites = call_sites(code, lines, ir)
    comments = kernel_comments(sites, nodes, graph)
    origins = find_origins(graph, ir, unpacked_outputs(code, lines), comments)
    for entity, site, places in aligned_calls(sites, lines, recorded):
        origins.doubtful.update(doubtful_operations(site, places))
        for line, position, block, op in places:
            node = site.nodes[position]
            asked = dumped_operation(node.body, block, op)
            if asked != op:  # a conversion by the back end, without a line in the IR
                own = op_entity(node.name, block, op)
                collector.add("code", line, own, Confidence.inferred, call=entity)
            _link(collector, line, (node.name, block, asked), entity, origins)
    _link_externs(collector, code, origins)
    return origins


def doubtful_operations(site: CallSite, places: list[OpPlace]) -> dict[OpKey, str]:
    """Operations of which some lines likely belong to another one, and why: they have too many
    lines; or, in Triton's code, which repeats no loop, several lines while one of their operands
    has none."""
    lines = Counter((position, block, op) for _, position, block, op in places)
    reasons: dict[OpKey, str] = {}
    triton = site.kernel.kind.startswith("triton")
    for position, node in enumerate(site.nodes):
        for block in node.body.blocks.values() if node.body is not None else ():
            ops = [op for op in block.ops if op.op not in AROUND]
            lost = {op.name for op in ops if not lines[position, block.name, op.name]}
            for op in block.ops:
                own = lines[position, block.name, op.name]
                simple = op.op in _ONE_EXPRESSION
                taken = lost.intersection(_NAME.findall(" ".join(op.arguments)))
                if own > _most_lines(op.op, triton):
                    reason = f"{own} lines were matched with this operation"
                elif triton and simple and own > 1 and taken:
                    reason = (
                        f"{own} lines were matched with it and none with its operand `{min(taken)}`"
                    )
                else:
                    continue
                reasons[node.name, block.name, op.name] = reason
    return reasons


def _most_lines(op: str, triton: bool) -> int:
    if op in _ONE_EXPRESSION:
        return _MOST_OF_EXPRESSION
    if triton:
        return _MOST_IN_TRITON
    return _MOST_OF_LOAD if op == "load" else sys.maxsize


def _link_externs(collector: Collector, code: OutputCode, origins: Origins) -> None:
    """Links library calls to the node whose value they put into a buffer."""
    for call in code.calls:
        if not call.extern:
            continue
        outputs = (a.removeprefix("out=") for a in call.arguments if a.startswith("out="))
        buffers = [*call.results, *map(argument_buffer, outputs)]
        for name in dict.fromkeys(origins.externs.get(buffer) for buffer in buffers):
            if name is not None:
                entity = f"call:{call.kernel}:{call.handle}"
                collector.add("code", call.line, f"fx:{name}", Confidence.inferred, call=entity)


def aligned_calls(
    sites: list[CallSite], lines: list[str], recorded: set[str]
) -> Iterator[tuple[str, CallSite, list[OpPlace]]]:
    """Calls without a record, as entities, with the lines of their nodes' operations."""
    texts: dict[str, KernelText] = {}
    known: dict[object, list[OpPlace]] = {}
    for site in sites:
        entity = f"call:{site.call.kernel}:{site.call.handle}"
        if entity in recorded or not site.nodes:
            continue
        shape = shape_of(site)
        places = known.get(shape)
        if places is None:
            name = site.kernel.name
            if name not in texts:
                texts[name] = read_kernel_text(site.kernel, lines)
            places = known[shape] = _places(align_call(texts[name], site), site)
        yield entity, site, places


def _places(aligned: LineOps, site: CallSite) -> list[OpPlace]:
    """The places of operations, equal for all calls of the same shape."""
    order = {node.name: position for position, node in enumerate(site.nodes)}
    return [
        (line, order[node], block, op)
        for line, keys in aligned.lines.items()
        for node, block, op in keys
        if node in order
    ]


def _link(
    collector: Collector, line: int, key: tuple[str, str, str], call: str, origins: Origins
) -> None:
    collector.add("code", line, op_entity(*key), Confidence.inferred, call=call)
    node = origins.nodes.get(key)
    if node is not None:
        collector.add("code", line, f"fx:{node}", certainty_of(origins, key), call=call)
    for other in origins.others.get(key, ()):
        collector.add("code", line, f"fx:{other}", Confidence.kernel, call=call)


def certainty_of(origins: Origins, key: OpKey) -> Confidence:
    """How certain it is that an operation belongs to its likeliest node."""
    fits = origins.costs.get(key[0], 0.0) <= DOUBTFUL and key not in origins.doubtful
    return Confidence.inferred if fits else Confidence.kernel


def link_ir_nodes(
    collector: Collector,
    stage: str,
    parsed: IrText,
    origins: Origins,
    recorded: dict[str, set[str]],
) -> None:
    """Loop-body lines refer to the nodes their operations belong to, as recorded or as inferred."""
    for node in parsed.nodes:
        for block in node.body.blocks.values() if node.body is not None else ():
            for op in block.ops:
                entity = op_entity(node.name, block.name, op.name)
                exact = recorded.get(entity)
                for name in exact or ():
                    collector.add(stage, op.line, name, Confidence.exact)
                key = (node.name, block.name, op.name)
                owner = origins.nodes.get(key)
                if exact or owner is None:
                    continue
                collector.add(stage, op.line, f"fx:{owner}", certainty_of(origins, key))
                for other in origins.others.get(key, ()):
                    collector.add(stage, op.line, f"fx:{other}", Confidence.kernel)
