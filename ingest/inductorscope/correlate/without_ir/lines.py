"""Lines of kernels → FX nodes where no loop body was dumped: a log alone, a pasted listing."""

import re

from inductorscope.correlate.links.model import Collector, Confidence
from inductorscope.correlate.without_ir.walk import LineNode, NodesOfLines
from inductorscope.formats.graph.ir import IrText

_MAIN = re.compile(r"(?:op|buf)\d")
SURE = 0.5
SURE_CPP = 0.3
"""Readings with a higher cost are shown as guesses within their kernel. C++ with vectors, tails and
tiles is easier to misread, so its bound is lower."""


def has_bodies(ir: IrText) -> bool:
    """Whether the main graph has loop bodies: sometimes only the IR of the last branch or loop
    remains."""
    return any(node.body is not None and _MAIN.match(node.name) for node in ir.nodes)


def sure_below(node: LineNode) -> float:
    return SURE_CPP if node.cpp else SURE


def add_lines(
    collector: Collector, nodes: NodesOfLines, recorded: set[str], operations: bool = False
) -> None:
    """`recorded`: calls with an exact record. `operations`: also add each line's operation, which
    no IR names."""
    for (kernel, handle), lines in nodes.items():
        call = f"call:{kernel}:{handle}"
        if call in recorded:
            continue
        for line in lines:
            sure = line.cost <= sure_below(line)
            surest = Confidence.inferred if sure else Confidence.kernel
            collector.add("code", line.line, f"fx:{line.node}", surest, call=call)
            if operations:
                collector.add("code", line.line, f"op:text.{line.op}", surest, call=call)
