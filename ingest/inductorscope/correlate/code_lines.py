"""Lines of kernels → operations and FX nodes, over every call of every kernel."""

from collections.abc import Iterator

from inductorscope.correlate.buffers.origins import OpKey, Origins
from inductorscope.correlate.buffers.walk import find_origins
from inductorscope.correlate.kernel_comments import kernel_comments
from inductorscope.correlate.links.kernel_nodes import complete_nodes
from inductorscope.correlate.links.model import Collector, Confidence
from inductorscope.correlate.links.text_stages import op_entity
from inductorscope.correlate.links.texts import ParsedTexts
from inductorscope.correlate.nodes.fx_graph import FxGraph
from inductorscope.correlate.replay.kernel_lines import (
    KernelText,
    LineOps,
    align_call,
    read_kernel_text,
)
from inductorscope.correlate.replay.schedule import CallSite, call_sites, shape_of, unpacked_outputs
from inductorscope.correlate.scopes import Scope
from inductorscope.correlate.without_ir.wrapper import output_of
from inductorscope.formats.code.output_code import OutputCode
from inductorscope.formats.code.wrapper_lines import parse_wrapper
from inductorscope.formats.graph.ir import IrText

DOUBTFUL = 1.0
"""A reading of a loop body with a higher cost is shown as a guess within its kernel."""

OpPlace = tuple[int, int, str, str]
"""(line, index of the call's node, block, operation)"""


class Inference:
    """What is inferred of a graph's loop bodies and of the calls that compute them."""

    def __init__(self, scope: Scope, read: ParsedTexts, recorded: set[str]) -> None:
        """`recorded`: calls that need no inference."""
        self.ir = scope.ir(read.ir_post or IrText())
        self.code, lines = scope.code, scope.lines
        wrapper = parse_wrapper("\n".join(lines), self.code)
        sites = call_sites(self.code, wrapper, self.ir)
        graph = FxGraph(scope.post)
        complete = complete_nodes(self.code, read.provenance)
        self.comments = kernel_comments(sites, complete, graph)
        outputs = unpacked_outputs(wrapper)
        self.origins = find_origins(graph, self.ir, outputs, self.comments)
        self.calls = list(_aligned_calls(sites, lines, recorded))
        """Calls without a record, as entities, with the lines of their nodes' operations."""

    def lines(self) -> Iterator[tuple[str, int, OpKey]]:
        """Calls as entities, a line of theirs, and the operation that the line belongs to."""
        for entity, site, places in self.calls:
            for line, position, block, op in places:
                yield entity, line, (site.nodes[position].name, block, op)


def link_lines(collector: Collector, inference: Inference) -> None:
    for call, line, key in inference.lines():
        collector.add("code", line, op_entity(*key), Confidence.inferred, call=call)
        _link_nodes(collector, "code", line, key, inference.origins, call)
    _link_externs(collector, inference.code, inference.origins)


def _link_externs(collector: Collector, code: OutputCode, origins: Origins) -> None:
    """Links library calls to the node whose value they put into a buffer."""
    for call in code.calls:
        if not call.extern:
            continue
        outputs = output_of(call)
        for name in dict.fromkeys(origins.externs.get(buffer) for buffer in outputs):
            if name is not None:
                entity = f"call:{call.kernel}:{call.handle}"
                collector.add("code", call.line, f"fx:{name}", Confidence.inferred, call=entity)


def _aligned_calls(
    sites: list[CallSite], lines: list[str], recorded: set[str]
) -> Iterator[tuple[str, CallSite, list[OpPlace]]]:
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


def _link_nodes(
    collector: Collector,
    stage: str,
    line: int,
    key: OpKey,
    origins: Origins,
    call: str | None = None,
) -> None:
    node = origins.nodes.get(key)
    if node is not None:
        collector.add(stage, line, f"fx:{node}", certainty_of(origins, key), call=call)
        for other in origins.others.get(key, ()):
            collector.add(stage, line, f"fx:{other}", Confidence.kernel, call=call)


def certainty_of(origins: Origins, key: OpKey) -> Confidence:
    """How certain it is that an operation belongs to its likeliest node."""
    fits = origins.costs.get(key[0], 0.0) <= DOUBTFUL
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
                if not exact:
                    key = (node.name, block.name, op.name)
                    _link_nodes(collector, stage, op.line, key, origins)
