"""Links Dynamo's nodes, of graphs before AOTAutograd, to the post-grad nodes they became.

Names change on the way (`a` becomes `neg`). Inductor's record has the mapping (`postToPre`).
Without it (a backward graph, an upload that lacks the file) the user's lines connect them: both
graphs quote them, in the same order, or in reverse where gradients are computed; for a line in a
loop the parameters identify the iteration. When a line's mapping is not clear, all its nodes are
candidates.
"""

import re
from collections import defaultdict
from collections.abc import Iterable

from inductorscope.correlate.links.model import Collector, Confidence
from inductorscope.correlate.links.text_stages import fx_entity, link_fx, main_class
from inductorscope.formats.graph.fx import FxText, FxTextNode

_Place = tuple[str, int]
_Run = list[FxTextNode]

MOST_CANDIDATES = 8
"""The most candidates of a line; with more, they say no more than the line."""

# Decompositions make these too, so their names identify nothing.
_ANYWHERE = {"view", "reshape", "permute", "transpose", "expand", "contiguous", "clone", "getitem"}
# primals_31 and arg30_1 are both AOTAutograd's 31st input: the names contain the position.
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
    for name, candidates in {**by_line, **recorded, **inputs}.items():
        for node, confidence in candidates:
            collector.add(stage, node.line, f"fx:{name}", confidence)


_Matches = dict[str, list[tuple[FxTextNode, Confidence]]]


def _recorded(own: _Run, became: _Run, post_to_pre: dict[str, list[str]]) -> _Matches:
    """Matches from Inductor's record."""
    named = {node.name: node for node in own}
    matches: _Matches = {}
    for node in became:
        before = [named[name] for name in post_to_pre.get(node.name, ()) if name in named]
        if before:
            matches[node.name] = [(node_before, Confidence.exact) for node_before in before]
    return matches


def _inputs(own: _Run, became: _Run) -> _Matches:
    """Matches inputs by order; types must agree, since a wrapper may add or split inputs."""
    inputs = [node for node in own if node.kind == "placeholder"]
    assigned = {
        node.inputs[0]: node
        for node in own
        if node.kind != "placeholder" and node.op == "expression" and len(node.inputs) == 1
    }
    matches: _Matches = {}
    for node in became:
        named = _INPUT.match(node.name) if node.kind == "placeholder" else None
        if named is None:
            continue
        at = int(named.group(1)) - 1 if named.group(1) else int(named.group(2))
        if not 0 <= at < len(inputs):
            continue
        captured = inputs[at]
        if node.dtype and (node.dtype, node.shape) == (captured.dtype, captured.shape):
            matches[node.name] = [(assigned.get(captured.name, captured), Confidence.inferred)]
    return matches


def _by_line(own: _Run, became: _Run, inputs: _Matches) -> _Matches:
    """Matches nodes by the user's line that both graphs quote."""
    own_runs, later_runs = _runs(own), _runs(became)
    backward = any(node.name.startswith("tangents_") for node in became)
    takers = _takers(own, became, inputs)
    matches: _Matches = {}
    for place, runs in later_runs.items():
        known = own_runs.get(place, [])
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
                    matches[node.name] = [(direct[0], Confidence.inferred)]
                else:
                    matches[node.name] = _narrowed(_run_of(near, runs_of) or in_order, node)
    return matches


def _takers(own: _Run, became: _Run, inputs: _Matches) -> dict[str, list[FxTextNode]]:
    """Input of the later graph → Dynamo's nodes that take it: parameters distinguish layers."""
    users: dict[str, list[FxTextNode]] = defaultdict(list)
    for node in own:
        for name in node.inputs:
            users[name].append(node)
    takers: dict[str, list[FxTextNode]] = {}
    for node in became:
        if node.name in inputs:
            takers[node.name] = users.get(inputs[node.name][0][0].name, [])
    return takers


def _taking(
    whole: _Run, nodes: _Run, takers: dict[str, list[FxTextNode]]
) -> dict[str, tuple[list[FxTextNode], list[FxTextNode]]]:
    """Nodes of one line of the user's → Dynamo's nodes of that line that take the same parameters,
    and nodes connected with it on the line, which identify the iteration of a loop."""
    on_line = {id(node) for node in whole}
    parts = _Parts()
    direct: dict[str, list[FxTextNode]] = {}
    made_of: dict[str, list[FxTextNode]] = {}
    """Values made of a single parameter: transposed, cast, expanded."""
    for node in nodes:
        taking: dict[int, FxTextNode] = {}
        for name in node.inputs:
            sources = made_of.get(name) or [t for t in takers.get(name, ()) if id(t) in on_line]
            taking.update((id(source), source) for source in sources)
            if name in parts.known:
                parts.join(node.name, name)
        parts.known.add(node.name)
        if taking:
            direct[node.name] = list(taking.values())
            if len(node.inputs) == 1:
                made_of[node.name] = direct[node.name]
    of_part: dict[str, dict[int, FxTextNode]] = defaultdict(dict)
    for name, matches in direct.items():
        of_part[parts.of(name)].update((id(origin), origin) for origin in matches)
    return {
        node.name: (direct.get(node.name, []), list(of_part[parts.of(node.name)].values()))
        for node in nodes
    }


class _Parts:
    """Groups of connected names (a union-find)."""

    def __init__(self) -> None:
        self.known: set[str] = set()
        self._above: dict[str, str] = {}

    def of(self, name: str) -> str:
        top = name
        while top in self._above:
            top = self._above[top]
        while name != top:  # shortens the path for the next lookup
            self._above[name], name = top, self._above[name]
        return top

    def join(self, name: str, other: str) -> None:
        first, second = self.of(name), self.of(other)
        if first != second:
            self._above[first] = second


def _run_of(takes: list[FxTextNode], runs_of: dict[int, _Run]) -> _Run | None:
    """The run that contains all of these nodes, if there is exactly one."""
    meant = [runs_of[id(node)] for node in takes]
    return meant[0] if meant and all(run is meant[0] for run in meant) else None


def _runs(nodes: Iterable[FxTextNode]) -> dict[_Place, list[_Run]]:
    """Place in the user's source → its nodes by run: a line in a loop occurs again."""
    runs: dict[_Place, list[_Run]] = defaultdict(list)
    last: _Place | None = None
    for node in nodes:
        if node.kind != "call" or not node.stack_file:
            continue  # a node without a place was made by a pass and does not end a run
        place = (node.stack_file, node.stack_line)
        if place != last:
            runs[place].append([])
        runs[place][-1].append(node)
        last = place
    return runs


def _narrowed(candidates: _Run, node: FxTextNode) -> list[tuple[FxTextNode, Confidence]]:
    wanted = _plain(node.op)
    same = [fx for fx in candidates if _plain(fx.op) == wanted and wanted not in _ANYWHERE]
    likely = same or candidates
    if len(likely) == 1:
        return [(likely[0], Confidence.inferred)]
    if len(likely) > MOST_CANDIDATES:
        return []
    return [(origin, Confidence.kernel) for origin in likely]


def _plain(op: str) -> str:
    """The operation without `_` and `_backward`: `add_` and `add` are one operation."""
    return op.rstrip("_").removesuffix("_backward")
