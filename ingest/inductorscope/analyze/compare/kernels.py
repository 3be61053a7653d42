"""Matches kernel calls of two runs that do the same work.

A call's work is the set of FX nodes that it computes. Calls are paired by that set, which may
differ in part. A remaining call was split, merged or regrouped if most of its nodes are in other
calls of the other run. Calls without nodes are paired by their code, or else by name.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import msgspec

from inductorscope.analyze.compare.graphs import Graph
from inductorscope.analyze.compare.nodes import Node

Change = Literal["same code", "changed", "split", "merged", "regrouped", "gone", "new"]
Known = Literal["nodes", "most nodes", "part", "code", "name", ""]
"""How a group is known, the most certain first; empty if it has no counterpart."""
KNOWN: tuple[Known, ...] = ("nodes", "most nodes", "part", "code", "name", "")

INFERRED: tuple[Known, ...] = ("part", "name")
"""Ways that make a group inferred. All pairs found in other ways are right in the truth (decision
29)."""

PAIR_SHARE = 0.5
"""Share of common work from which on two calls are a pair."""
PART_SHARE = 0.25
"""Share of a call's work from which on another call is one of several counterparts."""
MOST_CALLS = 100
"""A node that more calls compute says nothing about any of them."""


class Call(msgspec.Struct, eq=False):
    """A call of a kernel in the wrapper of a graph."""

    graph: Graph
    kernel: str
    handle: int
    kind: str
    category: str
    digest: str
    """Digest of the kernel's code without its names; the name of a library kernel."""
    nodes: list[Node] = msgspec.field(default_factory=list)
    time_us: float | None = None
    """Time in one step."""
    launches: float | None = None
    """Launches in one step."""
    others: list[Call] = msgspec.field(default_factory=list)
    """Calls of the other run that do its work."""
    known: Known = ""


class Group(msgspec.Struct):
    """Calls of both runs that together do the same work."""

    left: list[Call]
    right: list[Call]
    change: Change
    known: Known
    moved: bool
    """Whether the work is in another graph, or in a graph of the other direction."""


def match_calls(left: Sequence[Call], right: Sequence[Call]) -> list[Group]:
    """Returns groups of calls; each call is in one."""
    work = _Work(left, right)
    _by_nodes(left, right, work)
    _by_parts(left, work)
    _by_parts(right, work)
    _by_key(left, right, "code", lambda call: call.digest)
    _by_key(left, right, "name", lambda call: call.kernel.rstrip("_0123456789"))
    return _groups([*left, *right], set(left))


def certainty(known: Known) -> str:
    """Returns the certainty of a group, an id of `CERTAINTIES`; empty without a counterpart."""
    return known and ("inferred" if known in INFERRED else "exact")


def _join(one: Call, other: Call, known: Known) -> None:
    for a, b in ((one, other), (other, one)):
        a.known = max(a.known, known, key=KNOWN.index) if a.others else known
        a.others.append(b)


class _Work:
    """The work of all calls. A node that several calls compute counts less in each."""

    def __init__(self, left: Sequence[Call], right: Sequence[Call]) -> None:
        counts = Counter(node for call in (*left, *right) for node in call.nodes)
        self.weight = {
            node: 1 / max(count, counts[node.partner] if node.partner else 0)
            for node, count in counts.items()
        }
        self.within: dict[Node, list[Call]] = defaultdict(list)
        for call in (*left, *right):
            for node in call.nodes:
                if counts[node] <= MOST_CALLS:
                    self.within[node].append(call)

    def of(self, call: Call) -> float:
        return sum(self.weight[node] for node in call.nodes)

    def shared(self, call: Call) -> dict[Call, float]:
        """Returns the calls of the other run that share nodes with this one, and their common
        work."""
        common: dict[Call, float] = defaultdict(float)
        for node in call.nodes:
            for other in self.within.get(node.partner, ()) if node.partner else ():
                common[other] += self.weight[node]
        return common


def _by_nodes(left: Sequence[Call], right: Sequence[Call], work: _Work) -> None:
    places = {call: place for calls in (left, right) for place, call in enumerate(calls)}
    works = {call: work.of(call) for call in right}
    found: list[tuple[float, bool, int, int, int]] = []
    for place, call in enumerate(left):
        own = work.of(call)
        for other, shared in work.shared(call).items():
            alike = round(shared / (own + works[other] - shared), 6)
            if alike >= PAIR_SHARE:
                at = places[other]
                found.append((-alike, call.digest != other.digest, abs(place - at), place, at))
    for alike, _, _, place, at in sorted(found):
        if not left[place].others and not right[at].others:
            _join(left[place], right[at], "nodes" if alike == -1 else "most nodes")


def _by_parts(calls: Sequence[Call], work: _Work) -> None:
    """Joins calls to those that compute most of their nodes, until half of each has a
    counterpart."""
    for call in calls:
        own, shared = work.of(call), work.shared(call)
        covered = sum(shared[other] for other in call.others)
        for other in sorted(shared, key=lambda twin: -shared[twin]):
            if covered >= PAIR_SHARE * own or shared[other] < PART_SHARE * own:
                break
            if other not in call.others:
                whole = own + work.of(other) - shared[other]
                _join(call, other, "most nodes" if shared[other] >= PAIR_SHARE * whole else "part")
                covered += shared[other]


def _by_key(
    left: Sequence[Call], right: Sequence[Call], known: Known, key: Callable[[Call], str]
) -> None:
    """Pairs calls without a counterpart in the order of the code."""
    waiting: dict[tuple[str, Graph | None], deque[Call]] = defaultdict(deque)
    for call in right:
        if not call.others:
            waiting[key(call), call.graph].append(call)
    for call in left:
        alike = waiting[key(call), call.graph.partner]
        if not call.others and alike:
            _join(call, alike.popleft(), known)


def _groups(calls: Iterable[Call], left: set[Call]) -> list[Group]:
    """Returns the groups of calls that are joined, directly or through others."""
    groups, seen = [], set()
    for call in calls:
        if call in seen:
            continue
        seen.add(call)
        together = [call]
        for kernel in together:
            fresh = [other for other in kernel.others if other not in seen]
            seen.update(fresh)
            together += fresh
        groups.append(
            _group([kernel for kernel in together if kernel in left],
                   [kernel for kernel in together if kernel not in left])
        )  # fmt: skip
    return groups


def _group(left: list[Call], right: list[Call]) -> Group:
    change: Change = "regrouped"
    if not right:
        change = "gone"
    elif not left:
        change = "new"
    elif len(left) == len(right) == 1:
        same = left[0].digest == right[0].digest
        change = "same code" if same else "changed"
    elif len(left) == 1:
        change = "split"
    elif len(right) == 1:
        change = "merged"
    known = max((call.known for call in (*left, *right)), key=KNOWN.index)
    moved = any(call.graph.partner is not other.graph for call in left for other in call.others)
    return Group(left, right, change, known, moved)
