"""Lines of kernels → FX nodes where no loop body was dumped: a log alone, a pasted listing."""

from __future__ import annotations

from inductorscope.correlate.collect import Collector
from inductorscope.correlate.fx_values import FxGraph
from inductorscope.correlate.model import Confidence
from inductorscope.correlate.raise_walk import RaisedWalk
from inductorscope.formats.ir import IrText
from inductorscope.formats.output_code import OutputCode
from inductorscope.formats.scan import lines_of

SURE = 0.5
"""Readings that cost more are shown as guesses within their kernel."""


def has_bodies(ir: IrText) -> bool:
    return any(node.body is not None for node in ir.nodes)


def link_raised(
    collector: Collector,
    code: OutputCode,
    text: str,
    graph: FxGraph,
    nodes: dict[tuple[str, int], list[str]],
    recorded: set[str],
) -> None:
    """`nodes`: which nodes each call is known to compute. `recorded`: calls known exactly."""
    found = RaisedWalk(graph, code, lines_of(text), nodes).walk()
    for (kernel, handle), lines in found.items():
        call = f"call:{kernel}:{handle}"
        if call in recorded:
            continue
        for each in lines:
            surest = Confidence.inferred if each.cost <= SURE else Confidence.kernel
            collector.add("code", each.line, f"fx:{each.node}", surest, call=call)
