"""Lines of kernels → operations and FX nodes, over every call of every kernel."""

from __future__ import annotations

from inductorscope.correlate.collect import Collector
from inductorscope.correlate.fx_values import FxGraph
from inductorscope.correlate.kernel_lines import align_call, read_kernel_text
from inductorscope.correlate.model import Confidence
from inductorscope.correlate.origins import Origins, find_origins
from inductorscope.correlate.reordering import reordered_nodes
from inductorscope.correlate.schedule import call_sites, unpacked_outputs
from inductorscope.correlate.text_stages import op_entity
from inductorscope.formats.ir import IrText
from inductorscope.formats.output_code import OutputCode
from inductorscope.formats.scan import lines_of


def link_lines(
    collector: Collector,
    code: OutputCode,
    text: str,
    ir: tuple[IrText, IrText],
    graph: FxGraph,
    recorded: set[str],
) -> Origins:
    """`ir`: scheduler nodes before and after fusion. `recorded`: calls that need no inference."""
    lines = lines_of(text)
    before, after = ir
    reordered = reordered_nodes(before, after)
    origins = find_origins(graph, after, unpacked_outputs(code, lines), reordered)
    texts = {kernel.name: read_kernel_text(kernel, lines) for kernel in code.kernels}
    for site in call_sites(code, lines, after):
        entity = f"call:{site.call.kernel}:{site.call.handle}"
        if entity in recorded:
            continue
        found = align_call(texts[site.kernel.name], site)
        for line, keys in found.lines.items():
            for node, block, op in keys:
                name = op_entity(node, block, op)
                collector.add("code", line, name, Confidence.inferred, call=entity)
                origin = origins.makers.get(node) or origins.nodes.get((node, block, op))
                if origin is not None:
                    fx = f"fx:{origin}"
                    collector.add("code", line, fx, Confidence.inferred, call=entity)
    return origins


def link_ir_nodes(
    collector: Collector,
    stage: str,
    parsed: IrText,
    origins: Origins,
    recorded: dict[str, set[str]],
) -> None:
    """Loop-body lines refer to the nodes their operations belong to, as recorded or as found."""
    for node in parsed.nodes:
        for block in node.body.blocks.values() if node.body is not None else ():
            for op in block.ops:
                entity = op_entity(node.name, block.name, op.name)
                exact = recorded.get(entity)
                for name in exact or ():
                    collector.add(stage, op.line, name, Confidence.exact)
                found = origins.makers.get(node.name)
                found = found or origins.nodes.get((node.name, block.name, op.name))
                if not exact and found is not None:
                    collector.add(stage, op.line, f"fx:{found}", Confidence.inferred)
