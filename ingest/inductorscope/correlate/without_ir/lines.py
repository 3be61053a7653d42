"""Lines of kernels → FX nodes where no loop body was dumped: a log alone, a pasted listing."""

from __future__ import annotations

import re

from inductorscope.correlate.links.collect import Collector
from inductorscope.correlate.links.model import Confidence
from inductorscope.correlate.nodes.fx_graph import FxGraph
from inductorscope.correlate.without_ir.walk import FoundLines, LineNode, RaisedWalk
from inductorscope.formats.code.output_code import OutputCode
from inductorscope.formats.graph.ir import IrText
from inductorscope.formats.text import lines_of

_MAIN = re.compile(r"(?:op|buf)\d")
SURE = 0.5
SURE_CPP = 0.3
"""Readings that cost more are shown as guesses within their kernel. Vectors, tails and tiles of C++
leave more room for a wrong reading."""


def has_bodies(ir: IrText) -> bool:
    """Whether the main graph's are there: of branches and loops, the last one's IR may be left."""
    return any(node.body is not None and _MAIN.match(node.name) for node in ir.nodes)


def sure_below(node: LineNode) -> float:
    return SURE_CPP if node.cpp else SURE


def link_raised(
    collector: Collector,
    code: OutputCode,
    text: str,
    graph: FxGraph,
    nodes: dict[tuple[str, int], list[str]],
    recorded: set[str],
) -> None:
    """`nodes`: which nodes each call is known to compute. `recorded`: calls known exactly."""
    add_lines(collector, RaisedWalk(graph, code, lines_of(text), nodes).walk(), recorded)


def add_lines(
    collector: Collector, nodes: FoundLines, recorded: set[str], operations: bool = False
) -> None:
    """`operations`: say what each line does as well, of operations that no IR names."""
    for (kernel, handle), lines in nodes.items():
        call = f"call:{kernel}:{handle}"
        if call in recorded:
            continue
        for each in lines:
            sure = each.cost <= sure_below(each)
            surest = Confidence.inferred if sure else Confidence.kernel
            collector.add("code", each.line, f"fx:{each.node}", surest, call=call)
            if each.own and each.own != each.node:
                collector.add("code", each.line, f"fx:{each.own}", Confidence.kernel, call=call)
            if operations:
                collector.add("code", each.line, f"op:text.{each.op}", surest, call=call)
