"""Causes in matrix products: equal ones that a loop computes one by one, three that begin at their
dear end, and those of rows that a mask then drops."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection
from functools import reduce
from operator import itemgetter, or_
from typing import NamedTuple

from inductorscope import urls
from inductorscope.analyze.time.extern_nodes import operation
from inductorscope.analyze.time.kernel_names import operator_family
from inductorscope.answers.runs.diagnosis.cause import Cause
from inductorscope.answers.runs.diagnosis.evidence import SHOWN_LINES, Evidence, Place
from inductorscope.answers.runs.diagnosis.unread import numbers, shaped
from inductorscope.formats.graph.fx_nodes import FxNode, parse_annotation, short_name
from inductorscope.formats.vocabulary import GEMM
from inductorscope.units import microseconds, plural

MANY = 8
"""Equal products of one line that are worth one batched product."""
CHEAPER = 2.0
"""Times fewer operations that the other order of three matrices needs."""
STANDS_OUT = 0.05
"""Smallest share of a step that they must take, or save."""
BRANCHES = 4
"""Masks of one tensor, or times that a part repeats, that are worth computing each row once."""
_MASKS = frozenset(("where", "mul", "masked_fill"))
_PASSES = _MASKS | {
    "unsqueeze",
    "expand",
    "view",
    "_to_copy",
    "convert_element_type",
    "bitwise_not",
}
"""Operators through which a mask reaches what it drops rows of."""
_REPEATS = frozenset(("expand", "index", "index_select", "embedding"))
_SIZE = re.compile(r"[1-9][0-9]{0,8}")


def one_by_one(evidence: Evidence) -> Cause | None:
    """Lines compute many products of the same sizes, none from another's result."""
    step, found = evidence.step_us, list[tuple[float, list[Place], str, int]]()
    for graph in evidence.graphs:
        if graph.direction != "backward":  # there, layers look independent
            groups = independent_products(evidence.nodes()[graph.slug])
            nodes = [node for group in groups for node in group]
            found.append((*evidence.spent(nodes), graph.slug, len(nodes)))
    us, places, slug, count = max(found, key=itemgetter(0), default=(0.0, [], "", 0))
    if not step or us < STANDS_OUT * step:
        return None
    return Cause(
        "one by one",
        f"{plural(count, 'product')} of equal sizes are computed one by one: their lines take "
        f"{microseconds(us)} of {evidence.step}.",
        "Give what the loop runs over a dimension of its own, and compute all by one product: "
        "`torch.bmm`, `torch.einsum` or `@` on stacked tensors.",
        urls.graph(evidence.id, slug),
        why="Each is a call of its own, and what follows one is not fused with what follows "
        "others.",
        concerns=us / step,
        lines=[line for place in places for line in evidence.line(*place)][:SHOWN_LINES],
    )


def independent_products(nodes: list[FxNode]) -> list[list[FxNode]]:
    """Returns products of one line and of the same sizes, of which none depends on another."""
    groups: dict[tuple[object, ...], list[FxNode]] = defaultdict(list)
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
    seen = [name for member in group for name in inputs[member]]
    known = set(seen)
    for name in seen:
        new = [source for source in inputs.get(name, ()) if source not in known]
        known.update(new)
        seen += new
    return not known.isdisjoint(group)


class Chain(NamedTuple):
    """Three matrices, of which the wrong two are multiplied first."""

    first: FxNode
    second: FxNode
    sizes: tuple[int, ...]
    """Of the three: m × k, k × n, n × p."""
    from_left: bool
    """Whether the left two are multiplied first."""

    times: float
    """How many times as many operations as in the other order."""


def chains(nodes: list[FxNode]) -> list[Chain]:
    """Returns chains of three matrices for which the other order needs far fewer operations."""
    named = {node.name: node for node in nodes}
    uses = Counter(name for node in nodes for name in node.inputs)
    found = []
    for second in nodes:
        for place, name in enumerate(second.inputs if _multiplies(second) else ()):
            first = named.get(name)
            if first is None or not _multiplies(first) or uses[name] > 1:
                continue
            left, right = (_sides(named.get(source)) for source in first.inputs)
            other = _sides(named.get(second.inputs[1 - place]))
            if not left or not right or not other:
                continue
            from_left = place == 0
            m, k, n, p = (*left, right[1], other[1]) if from_left else (*other, *right)
            times = m * n * (k + p) / (k * p * (n + m))
            times = times if from_left else 1 / times
            if times > CHEAPER:
                found.append(Chain(first, second, (m, k, n, p), from_left, times))
    return found


def _multiplies(node: FxNode) -> bool:
    return operation(node.target) in ("mm", "bmm") and len(node.inputs) == 2


def _sides(node: FxNode | None) -> tuple[int, int] | None:
    """Returns the rows and columns of a matrix, or of each of several."""
    _, sizes = parse_annotation(node.annotation or "") if node is not None else ("", None)
    if sizes is None or len(sizes) < 2 or not all(map(_SIZE.fullmatch, sizes[-2:])):
        return None
    return int(sizes[-2]), int(sizes[-1])


def bracketing(evidence: Evidence) -> Cause | None:
    """A product of three matrices begins with the two that make the largest result."""
    step, found = evidence.step_us or 0.0, list[tuple[float, float, Chain, str]]()
    for graph in evidence.graphs:
        for triple in chains(evidence.nodes()[graph.slug]):
            us, _ = evidence.spent((triple.first, triple.second))
            found.append((us * (1 - 1 / triple.times), us, triple, graph.slug))
    wins, us, chain, slug = max(found, key=itemgetter(0)) if found else (0.0, 0.0, None, "")
    if chain is None or not wins > STANDS_OUT * step > 0:
        return None
    m, k, n, p = chain.sizes
    return Cause(
        "bracketing",
        f"A product of three matrices, {m} × {k}, {k} × {n} and {n} × {p}, begins with the "
        f"{'first' if chain.from_left else 'last'} two: its lines take {microseconds(us)} of "
        f"{evidence.step}.",
        "Bracket it from the other end: "
        f"`{'a @ (b @ c)' if chain.from_left else '(a @ b) @ c'}`, or `torch.linalg.multi_dot`.",
        urls.graph(evidence.id, slug),
        why=f"The other order needs {chain.times:.1f} times fewer operations.",
        wins_us=wins,
        lines=evidence.line(chain.first.stack_file, chain.first.stack_line),
    )


def masked_branches(nodes: list[FxNode]) -> list[list[list[FxNode]]]:
    """Returns groups of branches, each as the products that it alone needs. Of each row, a group
    keeps one branch: that whose number a tensor holds, such as an expert's."""
    named = {node.name: node for node in nodes}
    readers: dict[str, list[str]] = defaultdict(list)
    masks: dict[str, list[str]] = defaultdict(list)
    for node in nodes:
        for name in node.inputs:
            readers[name].append(node.name)
        if short_name(node.target) == "eq" and len(node.inputs) == 1:
            masks[node.inputs[0]].append(node.name)
    masks = {tensor: own for tensor, own in masks.items() if len(own) >= BRANCHES}
    products: list[FxNode] = []
    needed: dict[str, int] = {}  # the products before each node, as bits
    for node in nodes if masks else ():
        needed[node.name] = reduce(or_, (needed.get(source, 0) for source in node.inputs), 0)
        if operator_family(operation(node.target)) == GEMM:
            needed[node.name] |= 1 << len(products)
            products.append(node)
    found = []
    for tensor, own in masks.items():
        branches, seen, shared = list[int](), 0, 0
        for mask in own:
            reached, alone = [mask], 0
            for name in reached:
                for reader in readers[name]:
                    if short_name(named[reader].target) not in _PASSES or reader in reached:
                        continue
                    others = needed[reader] & ~needed.get(tensor, 0)
                    alone = alone or others
                    reached += [] if others else [reader]
            branches.append(alone)
            seen, shared = seen | alone, shared | (seen & alone)
        group = [
            [node for at, node in enumerate(products) if (branch & ~shared) >> at & 1]
            for branch in branches
        ]
        group = [branch for branch in group if branch]
        found += [group] if len(group) >= BRANCHES else []
    return found


def all_rows(evidence: Evidence) -> Cause | None:
    """Products compute all rows for each of several masks, and each row is kept for one."""
    found = [
        (*evidence.spent(node for branch in group for node in branch), graph.slug, len(group))
        for graph in evidence.graphs
        for group in masked_branches(evidence.nodes()[graph.slug])
    ]
    # Layers have the same lines: one of them counts.
    us, places, slug, count = max(found, key=itemgetter(0), default=(0.0, [], "", 0))
    if not us > STANDS_OUT * (evidence.step_us or 0.0) > 0:
        return None
    return Cause(
        "all rows",
        f"{count} branches, such as experts, multiply all rows, and masks keep each row of "
        f"one of them: their lines take {microseconds(us)} of {evidence.step}.",
        "Compute each row once: give each branch only its rows, `x[chosen == i]`, or sort the rows "
        "by branch and multiply them with `torch.nn.functional.grouped_mm`.",
        urls.graph(evidence.id, slug),
        why="Sizes that depend on data break the graph, unless "
        "`torch._dynamo.config.capture_dynamic_output_shape_ops` is on.",
        wins_us=us * (1 - 1 / count),
        kernels=evidence.kernels_of(places),
        lines=[line for place in places for line in evidence.line(*place)][:SHOWN_LINES],
    )


def diagonal(evidence: Evidence) -> Cause | None:
    """A product with a diagonal matrix multiplies rows or columns by a number each."""
    found = evidence.slowest(
        lambda nodes: [(node, 0) for node in diagonal_products(nodes)], STANDS_OUT
    )
    if found is None:
        return None
    return found.cause(
        "diagonal",
        f"The product `{found.nodes[0].name}` with a diagonal matrix multiplies each row or column "
        "by one number: its line takes",
        "Multiply by the vector: `w[:, None] * x` instead of `torch.diag(w) @ x`, `x * w` instead "
        "of `x @ torch.diag(w)`.",
    )


def diagonal_products(nodes: list[FxNode]) -> list[FxNode]:
    """Returns the products with what is zero where two counts differ."""
    known = {node.name: node for node in nodes}

    def counts(name: str) -> bool:
        node = shaped(name, known)
        return node is not None and short_name(node.target) in ("iota", "arange")

    made = set[str]()
    for node in nodes:
        chosen = node.inputs[:1] if short_name(node.target) == "where" else []
        test = known.get("".join(chosen))
        if test is not None and short_name(test.target) == "eq" and len(test.inputs) == 2:
            made |= {node.name} if all(map(counts, test.inputs)) else set()
    products = (node for node in nodes if operator_family(short_name(node.target)) == GEMM)
    return [node for node in products if made.intersection(node.inputs)]


def repeated_parts(evidence: Evidence) -> Cause | None:
    """A product reads rows that are joined from parts which repeat, such as all pairs."""
    found = evidence.slowest(
        lambda nodes: [
            (node, times) for *both, times in joined_products(nodes) for node in both
        ], STANDS_OUT,
    )  # fmt: skip
    if found is None:
        return None
    times = min(found.figures)
    return found.cause(
        "repeated parts",
        f"The product `{found.nodes[1].name}` reads rows that are joined from parts, each of which "
        f"repeats {times:.0f} times and more: their lines take",
        "Multiply each part by its own columns of the weight, `W[:, :d]` and `W[:, d:]`, before it "
        "repeats, and add the results: `left[:, :, None] + right[:, None]` for all pairs, "
        "`left[source] + right[target]` for edges.",
        share=1 - 1 / times,
    )


def joined_products(nodes: list[FxNode]) -> list[tuple[FxNode, FxNode, float]]:
    """Returns products with what they read, if that is joined from parts that repeat, and how often
    the one that repeats least does."""
    known = {node.name: node for node in nodes}

    def repeats(name: str) -> float:
        part = shaped(name, known)
        source = known.get("".join(part.inputs[:1])) if part is not None else None
        if part is None or source is None or short_name(part.target) not in _REPEATS:
            return 1.0
        return (numbers(part.annotation) or 0) / (numbers(source.annotation) or math.inf)

    found = []
    for node in nodes:
        for name in node.inputs if operator_family(short_name(node.target)) == GEMM else ():
            joined = shaped(name, known)
            if joined is not None and short_name(joined.target) == "cat":
                times = min(map(repeats, joined.inputs), default=1.0)
                found += [(joined, node, times)] if times >= BRANCHES else []
    return found


CHECKS = (one_by_one, bracketing, all_rows, diagonal, repeated_parts)
