"""The ranks of a job beside each other: what each did, and where they part."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.analyze.compile.difference import Difference
from inductorscope.analyze.compile.model import Compile, LogFacts, Story
from inductorscope.analyze.compile.ranks import Apart, Compared, Item, compare_items, plain
from inductorscope.answers.compile.diff import compared
from inductorscope.answers.compile.parts import RunStory, run_story
from inductorscope.answers.parts import RunName
from inductorscope.formats.log.kinds import BY_NAME, DYNAMO_START, called
from inductorscope.store.contents.texts import read_blob
from inductorscope.store.tables.models import Artifact, LogEntry

MOST_RANKS = 256
MOST_ITEMS = 20_000
MOST_APART = 100
LARGEST = 4 * 1024 * 1024

AREAS = {kind.name: kind.ranks for kind in BY_NAME.values() if kind.ranks}
ORDER = (
    "compiles", "graph breaks", "recompiles", "graphs", "guards", "collectives",
    "tensor metadata", "caches", "code", "failures", "order of graphs",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class RankRow:
    rank: int | None
    log: str
    same_as: int | None
    """Rank whose log is the same, byte for byte."""
    seconds: float | None
    graphs: int
    compiles: int
    breaks: int
    recompiles: int
    hits: int
    failed: int
    areas: dict[str, int]
    """Differences from the first rank, by what they are about."""
    parts_at: str
    """The first thing in which it differs from the first rank, in words."""


@dataclass(frozen=True, slots=True)
class ApartRow:
    area: str
    what: str
    compile_id: str | None
    rank: int | None
    one: int | None
    """Artifact of the first rank."""
    other: int | None
    text: str


@dataclass(frozen=True, slots=True)
class RanksPage:
    run: RunName
    known: bool
    first: int | None
    """The rank that the others are compared with."""
    ranks: list[RankRow]
    areas: list[str]
    same: bool
    first_apart: ApartRow | None
    shown: ApartRow | None
    """The first of the differences that texts of both ranks tell."""
    difference: Difference | None
    """Of those texts."""
    why_not: str
    aparts: list[ApartRow]
    more: bool


def ranks_page(session: Session, run_id: str) -> RanksPage:
    found = run_story(session, run_id)
    story = found.story or Story()
    logs = sorted(
        enumerate(story.logs), key=lambda item: (item[1].rank is None, item[1].rank or 0, item[0])
    )[:MOST_RANKS]
    items = {number: _items(found, story, number) for number, log in logs if log.same_as is None}
    rows, aparts = [], []
    reference = _read_of(*logs[0]) if logs else 0
    first = logs[0][1].rank if logs else None
    for number, log in logs:
        read = _read_of(number, log)
        result = (
            Compared()
            if read == reference
            else compare_items(items[reference], items[read], _Same(session), most=MOST_APART)
        )
        pair = _Pair(story, first, log.rank, reference, read)
        mine = [_apart(pair, apart) for apart in result.differences]
        rows.append(_rank(story, number, log, mine))
        aparts += mine
    start = aparts[0] if aparts else None
    shown = next((apart for apart in aparts if apart.one and apart.other), None)
    difference, why = None, ""
    if shown is not None and shown.one is not None and shown.other is not None:
        difference, why = compared(session, shown.one, shown.other, without_noise=True)
    return RanksPage(
        run=found.name,
        known=found.story is not None,
        first=first,
        ranks=rows,
        areas=[area for area in ORDER if any(area in row.areas for row in rows)],
        same=not aparts,
        first_apart=start,
        shown=shown,
        difference=difference,
        why_not=why,
        aparts=aparts[:MOST_APART],
        more=len(aparts) > MOST_APART,
    )


def _read_of(number: int, log: LogFacts) -> int:
    """The log that was read: of two with the same content, one."""
    return number if log.same_as is None else log.same_as


class _Same:
    """Whether two texts differ in nothing but addresses and the like."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._known: dict[str, str] = {}

    def __call__(self, one: Item, other: Item) -> bool:
        if one.artifact is None or other.artifact is None:
            return False
        return self._short(one.digest) == self._short(other.digest)

    def _short(self, digest: str) -> str:
        known = self._known.get(digest)
        if known is None:
            text = read_blob(self._session, digest) or b""
            if len(text) > LARGEST:
                return digest
            lines = text.decode("utf-8", "replace").split("\n")
            short = "\n".join(map(plain, lines)).encode("utf-8", "replace")
            known = self._known[digest] = hashlib.sha256(short).hexdigest()
        return known


def _items(found: RunStory, story: Story, log: int) -> list[Item]:
    """In the order of the log, with each compile's begin as an item of its own."""
    query = (
        select(
            LogEntry.compile_id, LogEntry.kind, LogEntry.name, LogEntry.line,
            LogEntry.artifact_id, Artifact.digest,
        )
        .join(Artifact, Artifact.id == LogEntry.artifact_id)
        .where(LogEntry.run_id == found.run.id, LogEntry.log == story.logs[log].path)
        .order_by(LogEntry.id)
        .limit(MOST_ITEMS)
    )  # fmt: skip
    counts: Counter[tuple[str | None, str]] = Counter()
    items = []
    for row in found.session.execute(query):
        what = called(row.kind, row.name)
        if not _told_by_all(what):
            continue
        nth = counts[row.compile_id, what]
        counts[row.compile_id, what] += 1
        items.append(Item(row.compile_id, 0, what, nth, row.digest, row.artifact_id, row.line))
    for one in story.compiles:
        if one.log == log and one.id is not None:
            place = f"{one.function} {(one.file or '').rpartition('/')[2]} {one.first_line}"
            items.append(
                Item(one.id, one.occurrence, DYNAMO_START, one.occurrence, place, None, one.line)
            )
    return sorted(items, key=lambda item: item.line)


def _told_by_all(what: str) -> bool:
    return what in AREAS or what.endswith("_graph") or "_cache_" in what


def _area(what: str) -> str:
    return AREAS.get(what) or ("caches" if "_cache_" in what else "graphs")


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two ranks that are compared, and the logs that were read of them."""

    story: Story
    first: int | None
    rank: int | None
    reference: int
    read: int


def _apart(pair: _Pair, apart: Apart) -> ApartRow:
    one, other = apart.one, apart.other
    where = f"compile {apart.compile_id}" if apart.compile_id else "no compile"
    if apart.what == DYNAMO_START:
        text = (
            f"as {apart.compile_id}, {_compiled(pair, pair.reference, pair.first, one)}; "
            f"{_compiled(pair, pair.read, pair.rank, other)}"
        )
    elif one is not None and other is not None:
        text = f"{apart.what} of {where} is not the same"
    else:
        has, lacks = (pair.first, pair.rank) if other is None else (pair.rank, pair.first)
        text = f"{_name(has)} has {apart.what} of {where}, {_name(lacks)} has none"
    return ApartRow(
        _area(apart.what), apart.what, apart.compile_id, pair.rank,
        None if one is None else one.artifact, None if other is None else other.artifact, text,
    )  # fmt: skip


def _compiled(pair: _Pair, log: int, rank: int | None, item: Item | None) -> str:
    compiled = None if item is None else _find(pair.story, log, item)
    if compiled is None:
        return f"{_name(rank)} compiled nothing"
    file = (compiled.file or "").rpartition("/")[2]
    return f"{_name(rank)} compiled {compiled.function} ({file}:{compiled.first_line})"


def _find(story: Story, log: int, item: Item) -> Compile | None:
    return next(
        (
            one for one in story.compiles
            if one.log == log and one.id == item.compile_id and one.line == item.line
        ),
        None,
    )  # fmt: skip


def _name(rank: int | None) -> str:
    return "the process without a rank" if rank is None else f"rank {rank}"


def _rank(story: Story, number: int, log: LogFacts, aparts: list[ApartRow]) -> RankRow:
    read = _read_of(number, log)
    mine = [one for one in story.compiles if one.log == read]
    return RankRow(
        log.rank,
        log.path,
        None if log.same_as is None else story.logs[log.same_as].rank,
        story.logs[read].seconds,
        sum(one.codes or (one.outcome == "compiled") for one in mine),
        len(mine),
        sum(one.breaks for one in mine),
        sum(one.recompile for one in mine),
        sum(one.hits for one in mine),
        sum(one.outcome == "failed" for one in mine),
        dict(Counter(apart.area for apart in aparts)),
        aparts[0].text if aparts else "",
    )
