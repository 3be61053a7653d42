"""A cause in equal products that a loop computes one by one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

from inductorscope import urls
from inductorscope.analyze.time.categories import operator_family
from inductorscope.analyze.time.extern_nodes import operation
from inductorscope.answers.runs.diagnosis.cause import Cause
from inductorscope.answers.runs.diagnosis.evidence import SHOWN_LINES, Evidence
from inductorscope.formats.vocabulary import GEMM
from inductorscope.store.runs.draft import FxNodeDraft
from inductorscope.units import microseconds, plural

MANY = 8
"""Equal products of one line that are worth one batched product."""
STANDS_OUT = 0.05
"""Smallest share of a step that they must take."""


def one_by_one(evidence: Evidence) -> Cause | None:
    """Lines compute many products of the same sizes, none from another's result."""
    step = evidence.step_us
    spent = {(row.path, row.line): row.shared_us for row in evidence.costs}
    us, slug, groups = 0.0, "", list[list[FxNodeDraft]]()
    for graph in evidence.graphs:
        if graph.direction == "backward":
            continue  # there, layers look independent
        found = independent_products(evidence.nodes()[graph.slug])
        lines = {(nodes[0].stack_file, nodes[0].stack_line) for nodes in found}
        cost = sum(spent.get(line, 0.0) for line in lines)
        if cost > us:
            us, slug, groups = cost, graph.slug, found
    if not step or us < STANDS_OUT * step:
        return None
    places = {(nodes[0].stack_file, nodes[0].stack_line) for nodes in groups}
    dearest = sorted(places, key=lambda place: -spent.get(place, 0.0))
    return Cause(
        "one by one",
        f"{plural(sum(len(nodes) for nodes in groups), 'product')} of equal sizes are computed one "
        f"by one: their lines take {microseconds(us)} of {evidence.step}.",
        "Give what the loop runs over a dimension of its own, and compute all by one product: "
        "`torch.bmm`, `torch.einsum` or `@` on stacked tensors.",
        urls.graph(evidence.id, slug),
        why="Each is a call of its own, and what follows one is not fused with what follows "
        "others.",
        concerns=us / step,
        lines=[line for place in dearest for line in evidence.line(*place)][:SHOWN_LINES],
    )


def independent_products(nodes: list[FxNodeDraft]) -> list[list[FxNodeDraft]]:
    """Returns products of one line and of the same sizes, of which none depends on another."""
    groups: dict[tuple[object, ...], list[FxNodeDraft]] = defaultdict(list)
    for node in nodes:
        if node.stack_line and operator_family(operation(node.target)) == GEMM:
            key = (node.stack_file, node.stack_line, node.target, node.annotation)
            groups[key].append(node)
    inputs = {node.name: node.inputs for node in nodes}
    return [
        group
        for group in groups.values()
        if len(group) >= MANY and not _depend({node.name for node in group}, inputs)
    ]


def _depend(group: Collection[str], inputs: dict[str, list[str]]) -> bool:
    """Whether one of the group is computed from another."""
    seen = [name for each in group for name in inputs[each]]
    known = set(seen)
    for name in seen:
        new = [each for each in inputs.get(name, ()) if each not in known]
        known.update(new)
        seen += new
    return not known.isdisjoint(group)


CHECKS = (one_by_one,)
