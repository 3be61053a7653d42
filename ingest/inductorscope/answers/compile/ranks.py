"""Compares the ranks of a job: what each did, and where they diverge."""

import hashlib
from collections import Counter
from functools import partial

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.analyze.compile.difference import Difference
from inductorscope.analyze.compile.model import LogFacts, Story
from inductorscope.analyze.ranks.differences import (
    Compared,
    Item,
    RankDifference,
    compare_items,
    difference_of_collectives,
    plain,
)
from inductorscope.answers.compile.collectives import (
    GraphOverlap,
    LateCollectives,
    late_collectives,
    overlaps,
    place_of,
)
from inductorscope.answers.compile.diff import compared
from inductorscope.answers.compile.parts import CompilesPage, RunStory, read_run_story
from inductorscope.fields import Prose, view
from inductorscope.formats.log.kinds import BY_NAME, DYNAMO_START, SCHEDULE, name_of
from inductorscope.formats.sizes import MIB
from inductorscope.store.contents.texts import read_blob
from inductorscope.store.tables.models import Artifact, LogEntry

MOST_RANKS = 256
MOST_ITEMS = 20_000
MOST_DIFFERENCES = 100
LARGEST = 4 * MIB

AREAS = {kind.name: kind.ranks for kind in BY_NAME.values() if kind.ranks}
ORDER = (
    "compiles", "collectives", "failures", "graph breaks", "recompiles", "graphs",
    "order of graphs", "tensor metadata", "guards", "code",
)  # fmt: skip
"""Areas of differences, the most important first, because one often causes those after it."""


class RankRow(msgspec.Struct, frozen=True):
    """One rank of the job."""

    rank: int | None
    log: str
    same_as: int | None
    """The rank whose log is the same, byte for byte."""
    seconds: float | None
    graphs: int
    compiles: int
    breaks: int
    recompiles: int
    hits: int
    failed: int
    areas: dict[str, int]
    """Number of differences from the reference, by area."""
    differs_at: str
    """The first difference from the reference, in words."""


class DifferenceRow(msgspec.Struct, frozen=True):
    """A difference between a rank and the reference."""

    area: str
    what: Prose
    compile_id: str | None
    rank: int | None
    one: int | None
    """Artifact of the reference."""
    other: int | None
    text: str
    line: int
    """Line of its record in the log."""


class RanksPage(CompilesPage, frozen=True):
    """The ranks of a job, compared with the first one that did not fail."""

    first: int | None
    """The rank that the others are compared with; the first of all if every rank failed."""
    ranks: list[RankRow]
    areas: list[str]
    same: bool
    first_difference: DifferenceRow | None
    shown: DifferenceRow | None
    """The first difference with a text in both ranks."""
    difference: Difference | None
    """The difference of those texts."""
    why_not: Prose
    differences: list[DifferenceRow]
    more: bool
    late: LateCollectives | None
    """Which rank comes late to collectives; None without traces of two ranks."""
    overlaps: list[GraphOverlap]
    """What torch expected of collectives that it moved or joined, and what the trace shows."""


def ranks_page(session: Session, run_id: str) -> RanksPage:
    run_story = read_run_story(session, run_id)
    story = run_story.story_or_empty
    logs = sorted(
        enumerate(story.logs), key=lambda item: (item[1].rank is None, item[1].rank or 0, item[0])
    )[:MOST_RANKS]
    items = {
        number: _items(run_story, story, number) for number, log in logs if log.same_as is None
    }
    rows: list[RankRow] = []
    differences: list[DifferenceRow] = []
    short = partial(_short, session, dict[str, str]())
    failed = {compile_.log for compile_ in story.compiles if compile_.outcome == "failed"}
    able = [item for item in logs if _read_of(*item) not in failed] or logs
    reference, first = (_read_of(*able[0]), able[0][1].rank) if able else (0, None)
    for number, log in logs:
        read = _read_of(number, log)
        result = (
            Compared()
            if read == reference
            else compare_items(items[reference], items[read], short, most=MOST_DIFFERENCES)
        )
        pair = _Pair(story, first, log.rank, reference, read)
        mine = [_row_of(session, pair, differing) for differing in result.differences]
        mine.sort(key=_importance)
        rows.append(_rank(story, number, log, mine))
        differences += mine
    differences.sort(key=_importance)
    shown = next((row for row in differences if row.one and row.other), None)
    difference, why = None, ""
    if shown is not None and shown.one is not None and shown.other is not None:
        difference, why = compared(session, shown.one, shown.other, without_noise=True)
    by_compile: dict[tuple[int | None, str | None], str] = {}
    for row in differences:
        by_compile.setdefault((row.rank, row.compile_id), row.text)
    return view(
        RanksPage,
        run_story.page,
        first=first,
        ranks=rows,
        areas=[area for area in ORDER if any(area in row.areas for row in rows)],
        same=not differences,
        first_difference=differences[0] if differences else None,
        shown=shown,
        difference=difference,
        why_not=why,
        differences=differences[:MOST_DIFFERENCES],
        more=len(differences) > MOST_DIFFERENCES,
        late=late_collectives(run_story, by_compile),
        overlaps=overlaps(run_story),
    )


def _read_of(number: int, log: LogFacts) -> int:
    """Returns the log that was read: logs with the same content are read once."""
    return number if log.same_as is None else log.same_as


def _read(session: Session, digest: str) -> bytes:
    return read_blob(session, digest) or b""


def _short(session: Session, known: dict[str, str], digest: str) -> str:
    """Returns a digest of a text without what differs between ranks of a healthy job."""
    if digest not in known:
        text = _read(session, digest)
        known[digest] = digest
        if len(text) <= LARGEST:
            lines = text.decode("utf-8", "replace").split("\n")
            short = "\n".join(map(plain, lines)).encode("utf-8", "replace")
            known[digest] = hashlib.sha256(short).hexdigest()
    return known[digest]


def _items(run_story: RunStory, story: Story, log: int) -> list[Item]:
    """Items in the order of the log; the start of each compile is an item too."""
    query = (
        select(
            LogEntry.compile_id, LogEntry.kind, LogEntry.name, LogEntry.line,
            LogEntry.artifact_id, Artifact.digest,
        )
        .join(Artifact, Artifact.id == LogEntry.artifact_id)
        .where(LogEntry.run_id == run_story.run.id, LogEntry.log == story.logs[log].path)
        .order_by(LogEntry.id)
        .limit(MOST_ITEMS)
    )  # fmt: skip
    counts: Counter[tuple[str | None, str]] = Counter()
    items = []
    for row in run_story.session.execute(query):
        what = name_of(row.kind, row.name)
        if not (what in AREAS or what.endswith("_graph")):
            continue
        key = row.compile_id, 0, what, counts[row.compile_id, what]
        counts[row.compile_id, what] += 1
        items.append(Item(*key, row.digest, artifact=row.artifact_id, line=row.line))
    for compile_ in story.compiles:
        if compile_.log == log and compile_.id is not None:
            file = (compile_.file or "").rpartition("/")[2]
            place = f"{compile_.function} {file} {compile_.first_line}"
            key = compile_.id, compile_.occurrence, DYNAMO_START, compile_.occurrence
            items.append(Item(*key, place, None, compile_.line))
    return sorted(items, key=lambda item: item.line)


def _importance(row: DifferenceRow) -> tuple[int, int, int]:
    """A sort key: the area, then the place in the log."""
    place = len(ORDER) if row.area not in ORDER else ORDER.index(row.area)
    return place, row.line, -1 if row.rank is None else row.rank


class _Pair(msgspec.Struct, frozen=True):
    """Two compared ranks, and the logs read for them."""

    story: Story
    first: int | None
    rank: int | None
    reference: int
    read: int


def _row_of(session: Session, pair: _Pair, each: RankDifference) -> DifferenceRow:
    left, right = each.one, each.other
    where = f"compile {each.compile_id}" if each.compile_id else "no compile"
    if each.what == DYNAMO_START:
        text = (
            f"as {each.compile_id}, {_compiled(pair, pair.reference, pair.first, left)}; "
            f"{_compiled(pair, pair.read, pair.rank, right)}"
        )
    elif left is not None and right is not None:
        text = f"{each.what} of {where} differs"
        if each.what == SCHEDULE:
            texts = _read(session, left.digest), _read(session, right.digest)
            difference = difference_of_collectives(*texts, _name(pair.first), _name(pair.rank))
            text = f"in {where}, {difference}" if difference else text
    else:
        has, lacks = (pair.first, pair.rank) if right is None else (pair.rank, pair.first)
        text = f"{_name(has)} has {each.what} of {where}, {_name(lacks)} has none"
    return DifferenceRow(
        area=AREAS.get(each.what) or "graphs", what=each.what, compile_id=each.compile_id,
        rank=pair.rank, one=None if left is None else left.artifact,
        other=None if right is None else right.artifact, text=text,
        line=next((item.line for item in (left, right) if item is not None), 0),
    )  # fmt: skip


def _compiled(pair: _Pair, log: int, rank: int | None, item: Item | None) -> str:
    at = None if item is None else (log, item.compile_id, item.line)
    every = pair.story.compiles
    compiled = next((found for found in every if (found.log, found.id, found.line) == at), None)
    if compiled is None:
        return f"{_name(rank)} compiled nothing"
    verb = "failed to compile" if compiled.outcome == "failed" else "compiled"
    return f"{_name(rank)} {verb} {place_of(compiled)}"


def _name(rank: int | None) -> str:
    return "the process without a rank" if rank is None else f"rank {rank}"


def _rank(story: Story, number: int, log: LogFacts, differences: list[DifferenceRow]) -> RankRow:
    read = _read_of(number, log)
    mine = [compile_ for compile_ in story.compiles if compile_.log == read]
    return RankRow(
        rank=log.rank,
        log=log.path,
        same_as=None if log.same_as is None else story.logs[log.same_as].rank,
        seconds=story.logs[read].seconds,
        graphs=sum(compile_.codes or (compile_.outcome == "compiled") for compile_ in mine),
        compiles=len(mine),
        breaks=sum(compile_.breaks for compile_ in mine),
        recompiles=sum(compile_.recompile for compile_ in mine),
        hits=sum(compile_.hits for compile_ in mine),
        failed=sum(compile_.outcome == "failed" for compile_ in mine),
        areas=dict(Counter(difference.area for difference in differences)),
        differs_at=differences[0].text if differences else "",
    )
