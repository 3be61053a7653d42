"""Dynamo's nodes: the graphs from before AOTAutograd, and the post-grad nodes that they became.

Names change on the way (`a` becomes `neg`). Inductor's own record tells which (`postToPre`). Where
it is silent (a backward graph, an upload without it) the user's line tells: both graphs quote it,
in the same order, or in the opposite one where gradients are computed; of a line in a loop the
parameters tell the turn. What a line's nodes became is not always clear: then all of them
are named, as candidates.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from inductorscope.correlate.links.collect import Collector
from inductorscope.correlate.links.model import Confidence
from inductorscope.correlate.links.text_stages import fx_entity, link_fx, main_class
from inductorscope.formats.graph.fx import FxText, FxTextNode

_Place = tuple[str, int]
_Run = list[FxTextNode]

MOST_CANDIDATES = 8
"""A line of more candidates tells nothing that the line itself does not."""

# A decomposition makes them too: their name tells nothing.
_ANYWHERE = {"view", "reshape", "permute", "transpose", "expand", "contiguous", "clone", "getitem"}
# primals_31 is AOTAutograd's 31st input, arg30_1 as well: both are named by their place.
_INPUT = re.compile(r"primals_(\d{1,6})$|arg(\d{1,6})_1$")


def link_dynamo(
    collector: Collector,
    stage: str,
    parsed: FxText,
    post: FxText,
    post_to_pre: dict[str, list[str]],
) -> None:
    """Link a graph in Dynamo's names, as it was captured or as pre-grad passes left it."""
    main = main_class(parsed)
    link_fx(
        collector,
        stage,
        [
            (node, "dyn:" + fx_entity(node, main).removeprefix("fx:"))
            for node in parsed.nodes
            if node.kind in ("call", "get_attr")
        ],
    )
    own, became = parsed.main(), post.main()
    recorded = _recorded(own, became, post_to_pre)
    missing = [node for node in became if node.name not in recorded]
    inputs = _inputs(own, became)
    by_line = _by_line(own, missing, inputs)
    for name, found in {**by_line, **recorded, **inputs}.items():
        for node, confidence in found:
            collector.add(stage, node.line, f"fx:{name}", confidence)


_Found = dict[str, list[tuple[FxTextNode, Confidence]]]


def _recorded(own: _Run, became: _Run, post_to_pre: dict[str, list[str]]) -> _Found:
    """What Inductor wrote down itself."""
    named = {node.name: node for node in own}
    found: _Found = {}
    for node in became:
        before = [named[name] for name in post_to_pre.get(node.name, ()) if name in named]
        if before:
            found[node.name] = [(each, Confidence.exact) for each in before]
    return found


def _inputs(own: _Run, became: _Run) -> _Found:
    """Inputs keep their order; their types must agree, as a wrapper may add or split some."""
    inputs = [node for node in own if node.kind == "placeholder"]
    assigned = {
        node.inputs[0]: node
        for node in own
        if node.kind != "placeholder" and node.op == "expression" and len(node.inputs) == 1
    }
    found: _Found = {}
    for node in became:
        named = _INPUT.match(node.name) if node.kind == "placeholder" else None
        if named is None:
            continue
        at = int(named.group(1)) - 1 if named.group(1) else int(named.group(2))
        if not 0 <= at < len(inputs):
            continue
        given = inputs[at]
        if node.dtype and (node.dtype, node.shape) == (given.dtype, given.shape):
            found[node.name] = [(assigned.get(given.name, given), Confidence.inferred)]
    return found


def _by_line(own: _Run, became: _Run, inputs: _Found) -> _Found:
    """By the user's line that both quote."""
    here, there = _runs(own), _runs(became)
    backward = any(node.name.startswith("tangents_") for node in became)
    takers = _takers(own, became, inputs)
    found: _Found = {}
    for place, runs in there.items():
        known = here.get(place, [])
        if not known:
            continue
        whole = [node for run in known for node in run]
        runs_of = {id(node): run for run in known for node in run}
        ordered = known[::-1] if backward else known
        taking = _taking(whole, [node for run in runs for node in run], takers)
        for at, run in enumerate(runs):
            in_order = ordered[at] if len(ordered) == len(runs) else whole
            for node in run:
                direct, near = taking[node.name]
                if len(direct) == 1:
                    found[node.name] = [(direct[0], Confidence.inferred)]
                else:
                    found[node.name] = _narrowed(_run_of(near, runs_of) or in_order, node)
    return found


def _takers(own: _Run, became: _Run, inputs: _Found) -> dict[str, list[FxTextNode]]:
    """Input of the later graph → Dynamo's nodes that take it: parameters tell layers apart."""
    users: dict[str, list[FxTextNode]] = defaultdict(list)
    for node in own:
        for name in node.inputs:
            users[name].append(node)
    found: dict[str, list[FxTextNode]] = {}
    for node in became:
        if node.name in inputs:
            found[node.name] = users.get(inputs[node.name][0][0].name, [])
    return found


def _taking(
    whole: _Run, nodes: _Run, takers: dict[str, list[FxTextNode]]
) -> dict[str, tuple[list[FxTextNode], list[FxTextNode]]]:
    """Nodes of one line of the user's → Dynamo's nodes of it that take the same parameters; and
    those that it is connected with on this line, which tell the turn of a loop."""
    here = {id(node) for node in whole}
    parts = _Parts()
    direct: dict[str, list[FxTextNode]] = {}
    made_of: dict[str, list[FxTextNode]] = {}
    """Values that are made of one parameter and nothing else: transposed, cast, expanded."""
    for node in nodes:
        taking: dict[int, FxTextNode] = {}
        for name in node.inputs:
            given = made_of.get(name) or [t for t in takers.get(name, ()) if id(t) in here]
            taking.update((id(each), each) for each in given)
            if name in parts.known:
                parts.join(node.name, name)
        parts.known.add(node.name)
        if taking:
            direct[node.name] = list(taking.values())
            if len(node.inputs) == 1:
                made_of[node.name] = direct[node.name]
    of_part: dict[str, dict[int, FxTextNode]] = defaultdict(dict)
    for name, found in direct.items():
        of_part[parts.of(name)].update((id(each), each) for each in found)
    return {
        node.name: (direct.get(node.name, []), list(of_part[parts.of(node.name)].values()))
        for node in nodes
    }


class _Parts:
    """Names that are connected."""

    def __init__(self) -> None:
        self.known: set[str] = set()
        self._above: dict[str, str] = {}

    def of(self, name: str) -> str:
        top = name
        while top in self._above:
            top = self._above[top]
        while name != top:  # the way becomes short for whoever asks next
            self._above[name], name = top, self._above[name]
        return top

    def join(self, one: str, other: str) -> None:
        first, second = self.of(one), self.of(other)
        if first != second:
            self._above[first] = second


def _run_of(takes: list[FxTextNode], runs_of: dict[int, _Run]) -> _Run | None:
    """The one run that all of these are of: other nodes of it take part too."""
    meant = [runs_of[id(node)] for node in takes]
    return meant[0] if meant and all(run is meant[0] for run in meant) else None


def _runs(nodes: Iterable[FxTextNode]) -> dict[_Place, list[_Run]]:
    """Place in the user's source → its nodes, run by run: a line in a loop comes again."""
    runs: dict[_Place, list[_Run]] = defaultdict(list)
    last: _Place | None = None
    for node in nodes:
        if node.kind != "call" or not node.stack_file:
            continue  # a node without a place was made by a pass: it interrupts no run
        place = (node.stack_file, node.stack_line)
        if place != last:
            runs[place].append([])
        runs[place][-1].append(node)
        last = place
    return runs


def _narrowed(candidates: _Run, node: FxTextNode) -> list[tuple[FxTextNode, Confidence]]:
    wanted = _plain(node.op)
    same = [each for each in candidates if _plain(each.op) == wanted and wanted not in _ANYWHERE]
    likely = same or candidates
    if len(likely) == 1:
        return [(likely[0], Confidence.inferred)]
    if len(likely) > MOST_CANDIDATES:
        return []
    return [(each, Confidence.kernel) for each in likely]


def _plain(op: str) -> str:
    """`add_`, `add` and `gelu_backward` are of one operation, or of its gradient."""
    return op.rstrip("_").removesuffix("_backward")
