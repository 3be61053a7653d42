"""The collectives of a job: which rank comes late to them, and what torch expected of them."""

from collections.abc import Iterable
from statistics import mean

import msgspec
from sqlalchemy import or_, select

from inductorscope.analyze.compile.model import Compile, Story
from inductorscope.analyze.ranks.lateness import Call, LateCall, Lateness, RankCalls, lateness
from inductorscope.analyze.ranks.overlap import Planned, planned
from inductorscope.analyze.time.facts import CollectiveCalls
from inductorscope.answers.compile.parts import RunStory
from inductorscope.fields import Prose
from inductorscope.formats.capture_facts import EAGER
from inductorscope.formats.log.kinds import OUTPUT_CODE, OVERLAP
from inductorscope.store.contents.texts import text_of
from inductorscope.store.tables.models import Artifact, LogEntry, Profile
from inductorscope.units import microseconds

MOST_SHOWN = 500
MOST_GRAPHS = 50
MOST_CALLS = 200_000
"""Most collectives that are compared, over all ranks."""


class LateRow(msgspec.Struct, frozen=True):
    """A collective, the rank that came last, and its compiles."""

    call: LateCall
    meanwhile: int | None
    """Number of the compile during which the others waited, from the last rank's log."""
    meanwhile_what: str
    compile: int | None
    """Number of the compile that called it, if a log has it."""
    differs: Prose
    """How the last rank compiled it differently from the first rank."""


class LateCollectives(msgspec.Struct, frozen=True):
    """The collectives that traces of several ranks have in common."""

    traces: int
    lateness: Lateness
    rows: list[LateRow]
    """The latest first."""
    more: int
    """Collectives that are not listed."""
    cut: bool
    """Whether a trace has more collectives than are compared."""
    further: int
    """Traces of other launches: a rank's traces after its first one, which are not compared."""


class GraphOverlap(msgspec.Struct, frozen=True):
    """The collectives of a graph that torch moved or joined, in the order in which they start."""

    rank: int | None
    compile: int | None
    """Number of the compile."""
    compile_id: str | None
    rows: list[Planned]
    calls: int
    """Calls of the graph in the trace; 0 if no trace shows its collectives."""
    verdict: Prose


def late_collectives(
    run_story: RunStory, differences: dict[tuple[int | None, str | None], str]
) -> LateCollectives | None:
    """Returns None without traces of at least two ranks that have collectives. `differences`: the
    first difference of each rank and compile id."""
    by_rank, further = _calls_by_rank(run_story)
    if len(by_rank) < 2:
        return None
    most = MOST_CALLS // len(by_rank)
    cut = any(found.cut or len(found.calls) > most for found in by_rank.values())
    found = lateness([_calls(rank, by_rank[rank], most) for rank in sorted(by_rank)])
    story = run_story.story_or_empty
    numbers = _numbers(story)
    rows = []
    for call in found.calls[:MOST_SHOWN]:
        meanwhile = _compiled_meanwhile(story, call)
        rows.append(
            LateRow(
                call,
                meanwhile.number if meanwhile else None,
                f"{meanwhile.id} {place_of(meanwhile)}" if meanwhile else "",
                numbers.get((call.last, call.compile_id)),
                differences.get((call.last, call.compile_id), "") if call.compile_id else "",
            )
        )
    more = len(found.calls) - len(rows)
    found.calls = []
    return LateCollectives(len(by_rank), found, rows=rows, more=more, cut=cut, further=further)


def _calls_by_rank(run_story: RunStory) -> tuple[dict[int, CollectiveCalls], int]:
    """The collectives in the first trace of each rank, and how many traces come after those."""
    query = (
        select(Profile.facts, Profile.label)
        .where(Profile.run_id == run_story.run.id)
        .order_by(Profile.label == EAGER, Profile.id)
    )
    by_rank: dict[int, CollectiveCalls] = {}
    further = 0
    for facts, label in run_story.session.execute(query):
        if facts.collectives is not None and facts.collectives.rank is not None:
            further += facts.collectives.rank in by_rank and label != EAGER
            by_rank.setdefault(facts.collectives.rank, facts.collectives)
    return by_rank, further


def _calls(rank: int, found: CollectiveCalls, most: int) -> RankCalls:
    calls = [
        Call(
            name=found.names[name],
            group=found.groups[group],
            compile_id=None if inside < 0 else found.compiles[inside],
            start_us=start,
            us=us,
            elements=None if elements < 0 else elements,
        )
        for name, group, inside, start, us, elements in found.calls[:most]
    ]
    return RankCalls(rank, found.host, found.base_ns, calls, found.on_device)


def place_of(compile_: Compile) -> str:
    """Returns the function that was compiled: 'forward (model.py:20)'."""
    file = (compile_.file or "").rpartition("/")[2]
    return f"{compile_.function} ({file}:{compile_.first_line})"


def _compiled_meanwhile(story: Story, call: LateCall) -> Compile | None:
    """Returns the compile that took up most of the time that the others waited."""
    began = call.arrived_us - call.late_us

    def waited(compile_: Compile) -> float:
        start, end = compile_.start_us or 0.0, compile_.end_us or 0.0
        return min(end, call.arrived_us) - max(start, began)

    theirs = [done for done in story.compiles if done.rank == call.last and waited(done) > 0]
    return max(theirs, key=waited, default=None)


def _numbers(story: Story) -> dict[tuple[int | None, str | None], int]:
    """Returns the numbers of compiles by rank and id; logs with the same content are read once."""
    found: dict[tuple[int | None, str | None], int] = {}
    for number, log in enumerate(story.logs):
        read = number if log.same_as is None else log.same_as
        for place, compile_ in enumerate(story.compiles):
            if compile_.log == read:
                found.setdefault((log.rank, compile_.id), place)
    return found


def overlaps(run_story: RunStory) -> list[GraphOverlap]:
    """The graphs of the first rank whose log has records of torch's pass over collectives."""
    by_rank, _ = _calls_by_rank(run_story)
    story = run_story.story_or_empty
    found: list[GraphOverlap] = []
    for log in sorted(story.logs, key=lambda log: (log.rank is None, log.rank or 0)):
        traced = by_rank.get(-1 if log.rank is None else log.rank, CollectiveCalls())
        for compile_id, texts in _graphs(run_story, log.path) if not found else ():
            if not (rows := planned(texts)):
                continue
            # The second graph of a compile is its backward pass, which names no compile in a trace.
            second = any(graph.compile_id == compile_id for graph in found)
            calls = 0 if second else _set_traced(rows, traced, compile_id)
            calls = calls or _set_traced(rows, traced, None)
            number = _numbers(story).get((log.rank, compile_id))
            found.append(
                GraphOverlap(log.rank, number, compile_id, rows, calls, verdict=_verdict(rows))
            )
    return found


def _graphs(run_story: RunStory, log: str) -> Iterable[tuple[str | None, dict[str, str]]]:
    """The records of each graph of a log, which end with its code, or before they repeat."""
    query = (
        select(LogEntry.compile_id, LogEntry.name, Artifact.digest)
        .join(Artifact, Artifact.id == LogEntry.artifact_id)
        .where(LogEntry.run_id == run_story.run.id, LogEntry.log == log)
        .where(or_(LogEntry.name.in_(OVERLAP), LogEntry.kind == OUTPUT_CODE))
        .order_by(LogEntry.id)
    )
    graphs: list[tuple[str | None, dict[str, str]]] = []
    for compile_id, name, digest in run_story.session.execute(query):
        if not graphs or graphs[-1][0] != compile_id or name is None or name in graphs[-1][1]:
            graphs.append((compile_id, {}))
        if name is not None:
            graphs[-1][1][name] = digest
    for compile_id, digests in [graph for graph in graphs if graph[1]][:MOST_GRAPHS]:
        yield compile_id, {name: text_of(run_story.session, at) for name, at in digests.items()}


def _set_traced(rows: list[Planned], found: CollectiveCalls, inside: str | None) -> int:
    """Sets the times in the trace, and returns the calls of the graph; 0 if the collectives there
    are not those of the graph, again and again."""
    calls = zip(found.calls, found.took, strict=False)
    mine = [
        (found.names[name], *took) for (name, _, number, *_), took in calls
        if (found.compiles[number] if number >= 0 else None) == inside
    ]  # fmt: skip
    count = len(mine) // len(rows)
    if not count or [name for name, *_ in mine] != [row.op for row in rows] * count:
        return 0
    for first, row in enumerate(rows):
        row.traced_us = mean(us for _, us, _ in mine[first :: len(rows)])
        row.traced_hidden_us = mean(us for _, _, us in mine[first :: len(rows)])
    return count


def _verdict(rows: list[Planned]) -> str:
    """Sums, in words; a sum of which a part is not known is left out."""
    said = []
    for who, parts in (
        ("torch expected", [(row.expected_us, row.expected_hidden_us) for row in rows]),
        ("the trace has", [(row.traced_us, row.traced_hidden_us) for row in rows]),
    ):
        us = [whole for whole, _ in parts if whole is not None]
        hidden = [part for _, part in parts if part is not None]
        if len(us) == len(rows):
            more = f", {microseconds(sum(hidden))} of it hidden" if len(hidden) == len(rows) else ""
            said.append(f"{who} {microseconds(sum(us))} of communication in a call{more}")
    return "; ".join(said) or "neither torch's records nor a trace have times of all of them"
