"""Matches FX nodes of two graphs that are the same computation.

Two nodes that apply the same operator to the same values are the same, and so are two whose results
are used in the same way. Further pairs follow along the edges of known ones: the third input of one
is the third input of the other. Labels become weaker from pass to pass, from operator, type and the
user's line to one of these alone. Names of nodes and literal arguments are never read.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from inductorscope.analyze.compare.lines import SourcePlace
from inductorscope.analyze.compile.difference import opcodes

How = Literal["same computation", "same inputs", "same use", "neighbours", "order"]
"""How a pair is known, the most certain first."""
PLACEHOLDER = "placeholder"
"""The target of a graph's inputs, whose names mean nothing."""
OUTPUT = "output"
EDGES = (PLACEHOLDER, OUTPUT)
"""Targets of nodes that compute nothing."""


class Node(msgspec.Struct, eq=False):
    """An FX node, ready to be compared."""

    name: str
    target: str
    type: str
    """Data type and shape; empty if unknown."""
    place: SourcePlace | None
    """The user's line, with the left run's number if both runs have the line."""
    shared: bool = False
    """Whether both runs have that line. Nodes of two different shared lines are different
    computations."""
    own: SourcePlace | None = None
    """The user's line in the node's own run."""
    inputs: list[Node] = msgspec.field(default_factory=list)
    users: list[Node] = msgspec.field(default_factory=list)
    partner: Node | None = None
    how: How | None = None


Label = Callable[[Node], Hashable]
LABELS: tuple[Label, ...] = (
    lambda node: (node.target, node.type, node.place),
    lambda node: (node.target, node.place),
    lambda node: (node.target, node.type),
    lambda node: node.target,
    lambda node: (node.target not in EDGES and node.place) or node,
)
"""The most certain first. The last one finds another operator for the same line, between known
neighbours."""
Labels = dict[Node, Hashable]


def content(nodes: Iterable[Node]) -> Counter[Hashable]:
    """Returns a graph's contents, in any order."""
    return Counter(label(node) for node in nodes for label in (LABELS[0], LABELS[3]))


def match_nodes(left: Sequence[Node], right: Sequence[Node]) -> None:
    """Sets `partner` and `how` of nodes that have none yet. Inputs come before their users."""
    for label in LABELS:
        labels = {node: label(node) for nodes in (left, right) for node in nodes}
        if label in LABELS[:3]:
            _match_cones(left, right, labels)
        _follow_edges(left, labels)
    labels = {node: LABELS[1](node) for nodes in (left, right) for node in nodes}
    _match_counts(left, right, labels)
    _follow_edges(left, labels)
    for label in LABELS[1:3]:
        _match_in_order(left, right, {node: label(node) for node in labels})


def free(nodes: Iterable[Node]) -> list[Node]:
    """Returns the nodes without a partner."""
    return [node for node in nodes if node.partner is None]


def _join(one: Node, other: Node, how: How) -> bool:
    if one.partner or other.partner or (one.shared and other.shared and one.place != other.place):
        return False
    one.partner, other.partner, one.how, other.how = other, one, how, how
    return True


def _match_cones(left: Sequence[Node], right: Sequence[Node], labels: Labels) -> None:
    """Pairs nodes with equal cones: of both inputs and users, or of one of them if the next nodes
    in the other direction are alike too."""
    down, up = _input_cones(left, right, labels), _user_cones(left, right, labels)
    users: Labels = {
        node: tuple(sorted(hash(labels.get(user)) for user in node.users if user.target != OUTPUT))
        for node in labels
    }
    inputs: Labels = {node: tuple(labels.get(source) for source in node.inputs) for node in labels}
    ways: tuple[tuple[How, Labels, Labels], ...] = (
        ("same computation", down, up), ("same inputs", down, users), ("same use", inputs, up),
    )  # fmt: skip
    for how, below, above in ways:
        _match_counts(left, right, {node: (below[node], above[node]) for node in labels}, how)


def _match_counts(
    left: Sequence[Node], right: Sequence[Node], keys: Labels, how: How = "order"
) -> None:
    """Pairs nodes in order, if both sides have equally many with the same key."""
    for ones, others in _groups(free(left), free(right), keys):
        if len(ones) == len(others):
            for one, other in zip(ones, others, strict=True):
                _join(one, other, how if len(ones) == 1 else "order")


def _groups(
    ones: Iterable[Node], others: Iterable[Node], keys: Labels
) -> Iterator[tuple[list[Node], list[Node]]]:
    """Yields the nodes of both sides by key."""
    groups: dict[Hashable, tuple[list[Node], list[Node]]] = defaultdict(lambda: ([], []))
    for node in ones:
        groups[keys[node]][0].append(node)
    for node in others:
        if keys[node] in groups:
            groups[keys[node]][1].append(node)
    return (group for group in groups.values() if group[1])


def _pair(node: Node, first: bool) -> Hashable:
    """Returns a key that only the two nodes of a pair share."""
    return id(node if first else node.partner)


def _input_cones(left: Sequence[Node], right: Sequence[Node], labels: Labels) -> Labels:
    cones: Labels = {}
    for nodes, first in ((left, True), (right, False)):
        for node in nodes:
            known = [cones.get(source, 0) for source in node.inputs]
            cones[node] = _pair(node, first) if node.partner else hash((labels[node], *known))
    return cones


def _user_cones(left: Sequence[Node], right: Sequence[Node], labels: Labels) -> Labels:
    cones: Labels = {}
    uses: dict[Node, list[int]] = defaultdict(list)
    """Node → the cones of its users, with its place among their inputs."""
    for nodes, first in ((left, True), (right, False)):
        for node in reversed(nodes):
            whole = hash((labels[node], *sorted(uses[node])))
            cones[node] = _pair(node, first) if node.partner else whole
            for place, source in enumerate(node.inputs):
                uses[source].append(hash((cones[node], place)))
    return cones


def _follow_edges(left: Sequence[Node], labels: Labels) -> None:
    """Pairs inputs of pairs by their place, and users where only one on each side has the label."""
    queue = deque(node for node in left if node.partner)
    while queue:
        one = queue.popleft()
        other = one.partner
        assert other is not None
        pairs = []
        # What a graph saves for its backward differs, so places in its output mean nothing.
        if len(one.inputs) == len(other.inputs) and one.target != OUTPUT:
            pairs = list(zip(one.inputs, other.inputs, strict=True))
        users = free(one.users), free(other.users)
        if all(users):
            known = {node: labels.get(node) for nodes in users for node in nodes}
            pairs += [(a[0], b[0]) for a, b in _groups(*users, known) if len(a) == len(b) == 1]
        for a, b in pairs:
            if labels.get(a, 0) == labels.get(b, 1) and _join(a, b, "neighbours"):
                queue.append(a)


def _match_in_order(left: Sequence[Node], right: Sequence[Node], labels: Labels) -> None:
    ones, others = free(left), free(right)
    if not ones or not others:
        return
    keys = [[labels[node] for node in nodes] for nodes in (ones, others)]
    for tag, low, high, after, _ in opcodes(*keys):
        if tag == "equal":
            for at in range(high - low):
                _join(ones[low + at], others[after + at], "order")
