"""A cause in the inputs of graphs: tensors that lie in memory in another order than is read."""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from inductorscope import urls
from inductorscope.analyze.time.extern_nodes import operation
from inductorscope.analyze.time.kernel_names import operator_family
from inductorscope.answers.runs.diagnosis.cause import Cause
from inductorscope.answers.runs.diagnosis.evidence import SHOWN_LINES, Evidence, Place
from inductorscope.answers.runs.diagnosis.unread import sides
from inductorscope.formats.graph.fx_nodes import FxNode
from inductorscope.formats.vocabulary import CODE, CONVOLUTION, GEMM
from inductorscope.units import microseconds, plural

LARGE = 250_000
"""Numbers of a tensor from which it does not stay in a cache near a core."""
STANDS_OUT = 0.1
"""Smallest share of a step that the lines which read both orders must take."""
_PICKS = ("index", "index_select", "embedding")
"""Operations that pick rows."""
_NUMBERS = r"\(((?:\d{1,18}, ){1,7}\d{1,18})\)"
_INPUT = re.compile(rf"assert_size_stride\((\w+), {_NUMBERS}, {_NUMBERS}[,)]")


class Order(NamedTuple):
    """The sizes of an input, and its dimensions from the one with the largest step in memory."""

    sizes: tuple[int, ...]
    dimensions: tuple[int, ...]


def orders(code: str) -> dict[str, Order]:
    """Returns the order of each large input of two and more dimensions, from a wrapper."""
    found = {}
    for name, *texts in _INPUT.findall(code):
        sizes, strides = (tuple(map(int, text.split(", "))) for text in texts)
        large = min(sizes) > 1 and math.prod(sizes) >= LARGE and min(strides) > 0
        if large and len(sizes) == len(strides):
            order = sorted(range(len(sizes)), key=lambda axis: -strides[axis])
            found[name] = Order(sizes, tuple(order))
    return found


def different(found: Iterable[Order]) -> set[Order]:
    """Returns orders other than row by row, where an input of the same size lies row by row."""
    by_sizes: dict[tuple[int, ...], set[Order]] = defaultdict(set)
    for order in found:
        by_sizes[order.sizes].add(order)
    return {
        order
        for sizes, alike in by_sizes.items()
        for order in alike - {Order(sizes, tuple(range(len(sizes))))}
        if len(alike) > 1
    }


def picked_apart(order: Order, picked: list[int], indices: list[int]) -> bool:
    """Whether indices pick along the dimension whose numbers lie side by side: then those of one
    index are apart."""
    axis, sizes = order.dimensions[-1], [*order.sizes]
    return picked == [*sizes[:axis], *indices, *sizes[axis + 1 :]]


def scattered(inputs: dict[str, Order], nodes: list[FxNode]) -> Iterator[Order]:
    """Yields the orders of inputs whose numbers are picked apart, by indices other than those of a
    roll, which follow each other."""
    given = {node.name: sides(node.annotation) or [] for node in nodes}
    counted = set[str]()
    for node in nodes:
        if node.target != node.name and counted.issuperset(node.inputs):
            counted.add(node.name)
        order = inputs.get("".join(node.inputs[:1]))
        picks = operation(node.target) in _PICKS and len(node.inputs) == 2
        if not order or not picks or node.inputs[1] in counted:
            continue
        if picked_apart(order, given[node.name], given.get(node.inputs[1], [])):
            yield order


def memory_order(evidence: Evidence) -> Cause | None:
    """A graph reads inputs of one size in different orders, or picks rows of one that does not lie
    row by row; those of backward are torch's."""
    step = evidence.step_us
    ours = {graph.slug for graph in evidence.graphs if graph.direction != "backward"}
    us, count, slug, order = 0.0, 0, "", Order((), ())
    places: list[Place] = []
    for own, text in evidence.texts(CODE) if step else ():
        if own not in ours:
            continue
        inputs = orders(text)
        odd, nodes = different(inputs.values()), evidence.nodes()[own]
        odd |= set(scattered(inputs, nodes))
        names = {name for name, given in inputs.items() if given in odd}
        readers = [node for node in nodes if names.intersection(node.inputs)]
        if any(operator_family(operation(node.target)) in (GEMM, CONVOLUTION) for node in readers):
            continue  # products take either
        cost, lines = evidence.spent(readers)
        if cost > us:
            us, count, slug, order = cost, len(names), own, inputs[next(iter(names))]
            places = lines
    if not step or us < STANDS_OUT * step:
        return None
    return Cause(
        "memory order",
        f"{plural(count, 'input')} of {' × '.join(f'{size:,}' for size in order.sizes)} "
        f"{'lies' if count == 1 else 'lie'} in memory in another order than read: the lines "
        f"that read {'it' if count == 1 else 'them'} take {microseconds(us)} of {evidence.step}.",
        "Store what is read together side by side before the first step: rows by "
        "`x = x.contiguous()`, or `numpy.ascontiguousarray` on arrays in Fortran's order; for "
        "`x[:, indices]`, keep `x.t().contiguous()` and pick its rows.",
        urls.graph(evidence.id, slug),
        why="A loop that goes along a row of it, or along another tensor, jumps through memory.",
        concerns=us / step,
        kernels=evidence.kernels_of(places),
        lines=[line for place in places for line in evidence.line(*place)][:SHOWN_LINES],
    )


CHECKS = (memory_order,)
