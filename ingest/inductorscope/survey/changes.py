"""What changed in a program between two versions of torch, as counted: how kernels are fused, what
operations its graphs have, the code of its kernels, and what its lock counts.

A change says nothing of the program but its lines, so that the same change is found in others.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.analyze.compare.graphs import match_graphs
from inductorscope.analyze.compare.kernels import Call, Group, match_calls
from inductorscope.analyze.compare.lines import SourcePlace
from inductorscope.analyze.compare.nodes import EDGES, Node
from inductorscope.answers.compare.sides import Side, load_sides
from inductorscope.answers.explorer.graph_texts import graph_texts
from inductorscope.answers.runs.diagnosis.step import VIEWS
from inductorscope.answers.time.graph_facts import graph_facts
from inductorscope.contract.compare import counted
from inductorscope.contract.lock import BY_ID, COUNTS
from inductorscope.contract.project import NOWHERE, PLACES, places_in
from inductorscope.formats.code.kernel_facts import find_body
from inductorscope.formats.graph.fx_nodes import short_name
from inductorscope.formats.vocabulary import CODE, EXTERN
from inductorscope.store.contents.texts import text_of
from inductorscope.store.tables.models import Graph, Kernel
from inductorscope.store.tables.surveys import SurveyCell

VERSION = 5
"""Version of the changes. Stored ones of another version are made again."""
APART, TOGETHER, KERNELS, OPERATIONS, CODES = "apart", "together", "kernels", "operations", "code"
FIGURES = ("bytes", "peak", "registers", "local", "shared", "predicted_ns")
"""Counts without places. They are changes of their own only where nothing else changed."""
NOT_LISTED = frozenset((KERNELS, "guards", "passes", *FIGURES))
"""Counts whose places are not compared: kernels are matched, and guards are Dynamo's own."""
REDUCTIONS = frozenset((
    "sum", "mean", "amax", "amin", "max", "min", "argmax", "argmin", "var", "var_mean", "std",
    "prod", "any", "all", "logsumexp", "_softmax", "_log_softmax", "cumsum", "cumprod", "norm",
    "linalg_vector_norm", "aminmax",
))  # fmt: skip
SIBLINGS = "two that read the same value"
ORDER = (OPERATIONS, APART, TOGETHER, KERNELS, CODES)
"""What brings those after it, and all other changes."""
ALONE = ("breaks", "recompiles", "graphs", "cuda_graphs_skipped", "cache_bypasses", "unfinished")
"""Changes that come from no other."""
_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]{2,60}|(?<![\w.])\d{1,9}(?![\w.])")
_OWN = re.compile(
    r"_?(?:tmp|in_ptr|out_ptr|in_out_ptr|ks|ps|ind|auto|scalar|buf|arg|primals)\w*|[a-z]+\d\w*"
    r"|std|int|float|return|static|template|const|for|None|True|False|eviction_policy"
)
"""Names that generated code numbers, and words of its languages, which say nothing alone."""


class Change(msgspec.Struct, frozen=True):
    """Something that changed in a program."""

    kind: str
    whats: dict[str, int]
    """What there is more or fewer of → how many."""
    more: int = 0
    """How many more there are: kernels, or of what `kind` counts."""
    lines: list[str] = []
    nbytes: int = 0
    """How many bytes more these kernels move, or else the program."""
    also: dict[str, int] = {}
    """What changed with it, on the same lines: kind, or kind and what → how many more."""


def changes_between(session: Session, before: SurveyCell, after: SurveyCell) -> list[Change]:
    """Compares two cells, both of which have runs."""
    assert before.run_id
    assert after.run_id
    left, right = load_sides(session, before.run_id, after.run_id)
    match_graphs(left.graphs, right.graphs)
    moved = _moved(session, left), _moved(session, right)
    more = after.counts.get("bytes", 0) - before.counts.get("bytes", 0)
    found = list(_listed(before, after, more))
    found += _operations(left, right, more)
    for group in match_calls(left.calls, right.calls):
        nbytes = sum(moved[1][call] for call in group.right) - sum(
            moved[0][call] for call in group.left
        )
        if group.change == "changed":
            found += _code(session, left, right, group, nbytes)
        elif group.change != "same code":
            found += _fused(group, nbytes)
    return _joined(found) or list(_figures(before, after))


def _joined(found: Sequence[Change]) -> list[Change]:
    """Joins changes on the same lines: other operations bring other kernels and calls, and other
    fusion brings other code."""

    def place(kind: str) -> int:
        return ORDER.index(kind) if kind in ORDER else len(ORDER)

    heads: list[Change] = []
    for change in sorted(found, key=lambda item: (place(item.kind), -len(item.lines))):
        own = set(change.lines)
        head = next(
            (
                at
                for at, other in enumerate(heads)
                if change.kind not in ALONE
                and place(other.kind) < place(change.kind)
                and (own & set(other.lines) or not (own or other.lines))
            ),
            None,
        )
        if head is None:
            heads.append(change)
            continue
        one = heads[head]
        also = Counter(one.also)
        if change.kind == CODES:
            also[CODES] += 1
        elif change.kind in (APART, TOGETHER, KERNELS):
            also[KERNELS] += change.more
        else:
            also.update({f"{change.kind} {what}": more for what, more in change.whats.items()})
        nbytes = 0 if one.kind == OPERATIONS else change.nbytes
        heads[head] = replace(one, also=dict(also), nbytes=one.nbytes + nbytes)
    return heads


def compared(before: SurveyCell, after: SurveyCell, name: str) -> bool:
    """Returns whether two cells have a count, and nothing outside of the program changes it."""
    alike = all(before.made.get(fact) == after.made.get(fact) for fact in BY_ID[name].made)
    return alike and name in before.counts and name in after.counts


def _listed(before: SurveyCell, after: SurveyCell, nbytes: int) -> Iterator[Change]:
    """Compares what the locks list, without their lines."""
    for count in COUNTS:
        if count.id in NOT_LISTED or not compared(before, after, count.id):
            continue
        was, now = (_whats(cell.details.get(count.id, ())) for cell in (before, after))
        for what in sorted(was.keys() | now.keys()):
            more = sum(now[what].values()) - sum(was[what].values())
            if more:
                changed = (now[what] - was[what]) or (was[what] - now[what])
                lines = {place for text in changed for place in places_in(text)}
                yield Change(count.id, {what: more}, more, _lines(lines), nbytes)


def _whats(details: Iterable[str]) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for text, times in counted(list(details)).items():
        found[_without_lines(text)][text] += times
    return found


def _without_lines(text: str) -> str:
    """Returns what a detail says of its lines: `line 7 of model.py: mm` is about `mm`."""
    rest = text.removeprefix("backward of ").removeprefix(NOWHERE)
    ends = [match.end() for match in PLACES.finditer(rest)]
    rest = rest[max(ends, default=0) :]
    rest = rest.partition("`, ")[2] if rest.startswith(" in `") else rest
    rest = rest.strip(" :,")
    return f"{rest} in the backward" if text.startswith("backward of ") else rest


def _figures(before: SurveyCell, after: SurveyCell) -> Iterator[Change]:
    for name in FIGURES:
        if compared(before, after, name):
            more = after.counts[name] - before.counts[name]
            if more:
                what = "more" if more > 0 else "less"
                yield Change(name, {what: 1}, more, nbytes=more if name == "bytes" else 0)


def _operations(left: Side, right: Side, nbytes: int) -> Iterator[Change]:
    """Compares the operations of the graphs, line by line; views compute nothing. An operation
    that only moved to other lines, or whose lines one torch does not record, did not change."""
    found: dict[SourcePlace | None, Counter[str]] = defaultdict(Counter)
    nodes = []
    for side, sign in ((left, -1), (right, 1)):
        own = [node for graph in side.graphs for node in graph.nodes]
        nodes += own
        for node in own:
            name = short_name(node.target)
            if node.target not in EDGES and name not in VIEWS and name != "getitem":
                found[node.place][name] += sign
    for name in {name for ops in found.values() for name in ops}:
        changed = [ops[name] for ops in found.values() if ops[name]]
        if min(changed, default=0) < 0 < max(changed, default=0):
            for ops in found.values():
                del ops[name]
            found[None][name] = sum(changed)
    for places in _linked(found, nodes):
        total: Counter[str] = Counter()
        for place in places:
            total.update(found[place])
        more = {name: total[name] for name in sorted(total) if total[name]}
        if more:
            yield Change(OPERATIONS, more, sum(more.values()), _lines(filter(None, places)), nbytes)


def _linked(
    found: Mapping[SourcePlace | None, Counter[str]], nodes: Iterable[Node]
) -> list[set[SourcePlace | None]]:
    """Groups places of which one has a changed operation that reads another's."""
    groups = {place: {place} for place, ops in found.items() if any(ops.values())}

    def changed(node: Node) -> bool:
        return node.place in groups and bool(found[node.place][short_name(node.target)])

    for node in filter(changed, nodes):
        for source in filter(changed, _sources(node)):
            one, other = groups[source.place], groups[node.place]
            if one is not other:
                one |= other
                groups.update(dict.fromkeys(other, one))
    return list({id(group): group for group in groups.values()}.values())


def _sources(node: Node) -> Iterator[Node]:
    """Yields the nodes whose values a node reads, through views."""
    for source in node.inputs:
        if short_name(source.target) in VIEWS:
            yield from _sources(source)
        else:
            yield source


def _fused(group: Group, nbytes: int) -> Iterator[Change]:
    """Finds which operations are no longer, or newly, in one kernel."""
    more = _generated(group.right) - _generated(group.left)
    found = False
    for kind, calls, others in (
        (APART, group.left, group.right),
        (TOGETHER, group.right, group.left),
    ):
        pairs, lines = _parted(calls, others)
        if pairs:
            yield Change(kind, dict(pairs), more, lines, nbytes)
            found = True
            more = nbytes = 0  # these are counted once
    if not found and more:
        nodes = [node for call in group.left or group.right for node in call.nodes]
        ops = sorted({short_name(node.target) for node in nodes} - VIEWS)
        yield Change(KERNELS, {", ".join(ops) or "no known operation": more}, more,
                     _places(nodes), nbytes)  # fmt: skip


def _generated(calls: Sequence[Call]) -> int:
    return sum(call.category != EXTERN for call in calls)


def _parted(calls: Sequence[Call], others: Sequence[Call]) -> tuple[Counter[str], list[str]]:
    """Returns pairs of operations of one call whose counterparts are in different calls: those of
    which one reads the other, or else those that read the same value; and their lines."""
    homes: dict[Node, set[int]] = defaultdict(set)
    for number, call in enumerate(others):
        for node in call.nodes:
            homes[node].add(number)

    def apart(one: Node, other: Node) -> bool:
        ours, theirs = (homes.get(node.partner, set()) if node.partner else set()
                        for node in (one, other))  # fmt: skip
        return bool(ours and theirs and not ours & theirs)

    pairs: Counter[str] = Counter()
    nodes: list[Node] = []
    for call in calls:
        own = set(call.nodes)
        beside: dict[tuple[Node, Node], str] = {}
        read: dict[Node, list[Node]] = defaultdict(list)
        for node in call.nodes:
            for source in dict.fromkeys(node.inputs):
                read[source].append(node)
                if source in own and apart(source, node):
                    beside[source, node] = _pair(source, node)
        if not beside:
            beside = {
                (reader, other): f"{SIBLINGS}: {_pair(*sorted((reader, other), key=_name))}"
                for readers in read.values()
                for number, reader in enumerate(readers)
                for other in readers[number + 1 :]
                if apart(reader, other)
            }
        pairs.update(beside.values())
        nodes += [node for pair in beside for node in pair]
    return pairs, _places(nodes)


def _name(node: Node) -> str:
    return short_name(node.target)


def _pair(one: Node, other: Node) -> str:
    return f"{_name(one)} → {_name(other)}"


def family(pair: str) -> str:
    """Returns what kind of operations a pair has."""
    if pair.startswith(SIBLINGS):
        return SIBLINGS
    first, second = (name in REDUCTIONS for name in pair.split(" → "))
    return (
        f"{'a reduction' if first else 'an operation'} and "
        f"{'a reduction' if second else 'another operation'} that reads it"
    )


def _code(session: Session, left: Side, right: Side, group: Group, nbytes: int) -> Iterator[Change]:
    """Finds the words and numbers that one kernel's code has and the other's has not, if both
    compute the same operations."""
    (one,), (other,) = group.left, group.right
    if Counter(map(_name, one.nodes)) != Counter(map(_name, other.nodes)):
        return  # other operations say more
    was, now = (_words(session, side.run, call) for side, call in ((left, one), (right, other)))
    changed = dict.fromkeys(sorted(now - was), 1) | dict.fromkeys(sorted(was - now), -1)
    # Numbers change with the words beside them.
    words = {word: more for word, more in changed.items() if not word.isdigit()} or changed
    if words:
        yield Change(CODES, words, 0, _places(other.nodes), nbytes)


def _words(session: Session, run: str, call: Call) -> set[str]:
    query = select(Kernel, Graph).join(Graph, Graph.id == Kernel.graph_id)
    query = query.where(
        Graph.run_id == run, Graph.slug == call.graph.slug, Kernel.name == call.kernel
    )
    kernel, graph = session.execute(query).one()
    digest = graph_texts(session, graph.id).digests.get(CODE)
    if digest is None or kernel.first_line is None or kernel.last_line is None:
        return {kernel.name}
    lines = text_of(session, digest).split("\n")
    body = find_body(lines, kernel.first_line - 1, kernel.last_line - 1)
    text = "\n".join(lines[body.first : body.last + 1]).replace(kernel.name, "")
    return {word for word in _WORD.findall(text) if not _OWN.fullmatch(word)}


def _moved(session: Session, side: Side) -> Mapping[Call, int]:
    """Returns the bytes that each call moves; 0 where that is not known."""
    query = select(Graph).where(Graph.run_id == side.run)
    known = {
        (graph.slug, work.kernel, work.handle): work.bytes.total or 0
        for graph in session.scalars(query)
        for work in graph_facts(session, graph).works
    }
    return {call: known.get((call.graph.slug, call.kernel, call.handle), 0) for call in side.calls}


def _places(nodes: Iterable[Node]) -> list[str]:
    return _lines({node.own for node in nodes if node.own})


def _lines(places: Iterable[tuple[str, int]]) -> list[str]:
    own = {(path.rpartition("/")[2], abs(line)) for path, line in places}
    return [f"{file}:{line}" for file, line in sorted(own)]
