"""The result of a numbers job, as JSON and in a sentence. Torch-free."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from inductorscope.analyze.failures.numbers import Measured, NodeNumbers

if TYPE_CHECKING:
    from inductorscope.capturing.inside.diagnose.numbers.graph import GraphNumbers


def result_of(graphs: Sequence[GraphNumbers], done: int) -> dict[str, Any]:
    """Returns the result so far; lists show `summary`."""
    from inductorscope.capturing.inside.diagnose.numbers.measure import REASONS, TOLERANCE

    blamed = _blamed(graphs)
    complete = done == len(graphs)
    summary = {
        "verdict": verdict(graphs, done),
        "graphs": len(graphs),
        "compared": sum(graph.compared for graph in graphs),
        "differing": sum(len(graph.differing) for graph in graphs),
        "graph": None if blamed is None else blamed[0].name,
        "node": None if blamed is None else blamed[1].node,
        "kernel": None if blamed is None else blamed[1].kernel,
        "complete": complete,
    }
    return {
        "summary": summary,
        "tolerance": TOLERANCE,
        "reasons": REASONS,
        "inputs": "made again with the capture's fixed seed",
        "graphs": [_graph(graph) for graph in graphs],
    }


def verdict(graphs: Sequence[GraphNumbers], done: int) -> str:
    if not graphs:
        return "Inductor compiled no graph of this program, so nothing can be compared."
    blamed = _blamed(graphs)
    if blamed is not None:
        return _blames(*blamed, len(graphs))
    compared = sum(graph.compared for graph in graphs)
    where = f"{len(graphs)} graph{'s' if len(graphs) != 1 else ''}"
    if done < len(graphs):
        return f"Nothing differs in the first {done} of {where}; the rest is being compared."
    random = sum(len(graph.random) for graph in graphs)
    if not compared:
        sentence = f"No value of {where} could be compared: no stored buffer belongs to a node"
        return sentence + (" that does not depend on random numbers." if random else ".")
    sentence = (
        f"No node's numbers differ by more than rounding explains: "
        f"{'the value' if compared == 1 else f'all {compared} values'} that kernels of {where} "
        f"wrote agree{'s' if compared == 1 else ''} with eager."
    )
    worst = max(
        (row for graph in graphs for row in graph.rows if _excess(row) is not None),
        key=lambda row: _excess(row) or 0.0,
        default=None,
    )
    if worst is not None:
        sentence += f" The largest error is {_excess(worst):.0%} of the tolerance, at {worst.node}."
    if random:
        sentence += f" {random} random operation{'s' if random != 1 else ''} could not be compared."
    return sentence


def _blames(graph: GraphNumbers, row: NodeNumbers, graphs: int) -> str:
    culprit = graph.culprit
    kernel = f" in kernel {row.kernel}" if row.kernel else ""
    where = f" of graph {graph.name}" if graphs > 1 else ""
    sentence = (
        f"`{row.node}`{where} is the first node whose numbers differ: {_error(row.measured)}"
        f"{kernel}; everything before it agrees."
    )
    if culprit is None:
        return sentence + " The search continues inside its kernel."
    if culprit.alone_wrong:
        return (
            sentence
            + " Compiled alone it is also wrong: its lowering or code generation is to blame."
        )
    if culprit.alone_wrong is False:
        return (
            sentence + " Compiled alone it is right: it is wrong only when fused as in this kernel."
        )
    return sentence


def _error(measured: Measured | None) -> str:
    assert measured is not None
    nan, inf = measured.nan, measured.inf
    sentence = f"{measured.wrong:,} of {measured.elements:,} values are wrong"
    if nan[0] != nan[1]:
        return f"{sentence}, {nan[0]:,} NaN where eager has {nan[1]:,}"
    if inf[0] != inf[1]:
        return f"{sentence}, {inf[0]:,} infinite where eager has {inf[1]:,}"
    if measured.max_abs is None:
        return sentence
    allowed = f" (allowed there: {measured.allowed:.2g})" if measured.allowed else ""
    return f"max abs error {measured.max_abs:.3g}{allowed}, {sentence}"


def _blamed(graphs: Sequence[GraphNumbers]) -> tuple[GraphNumbers, NodeNumbers] | None:
    for graph in graphs:
        if not graph.differing:
            continue
        name = graph.differing[0] if graph.culprit is None else graph.culprit.node
        for row in graph.rows:
            if row.node == name and row.measured is not None:
                return graph, row
    return None


def _graph(graph: GraphNumbers) -> dict[str, Any]:
    kept = ("name", "backward", "done", "compared", "random", "unsteady", "left_out", "rows")
    told = ("node", "found", "alone_wrong", "note")
    return {name: getattr(graph, name) for name in kept} | {
        "differing": graph.differing,
        "culprit": graph.culprit and {name: getattr(graph.culprit, name) for name in told},
    }


def _excess(row: NodeNumbers) -> float | None:
    return None if row.measured is None else row.measured.excess
