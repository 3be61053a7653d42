"""The TORCH_TRACE logs of a run: record by record, a page at a time."""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import msgspec
from sqlalchemy import Select, and_, func, select
from sqlalchemy.orm import Session

from inductorscope.answers.parts import RunName, run_of
from inductorscope.fields import Hidden, Prose, view
from inductorscope.formats.log.kinds import ARTIFACT, meaning
from inductorscope.formats.vocabulary import TORCH_LOGS, TRACE_LOG
from inductorscope.store.tables.models import Artifact, Graph, LogEntry, Run

PAGE = 200
COUNTED = 100_000
"""Matching records are counted up to here; beyond it the count is shown as a lower bound."""
NO_COMPILE = "-"
"""The filter's value for records without a compile id."""
NAMED = f"{ARTIFACT}:"
"""Prefix of artifact names in lists of kinds."""
ENDINGS = (".gz", ".zst")


class LogFile(msgspec.Struct, frozen=True):
    """One log."""

    path: str
    artifact: Hidden[int | None]
    """Artifact of the log, once it has been read to its end."""
    lines: int | None
    size: int | None
    records: int
    graphs: int | None = None
    compile_ids: int | None = None
    ranks: list[int] = []
    pids: list[int] = []


class KindRow(msgspec.Struct, frozen=True):
    """Records of one kind, or artifacts of one name."""

    kind: str
    """`artifact:NAME` for an artifact."""
    count: int
    listed: int
    """How many of them have their own row; kinds with thousands of records have none."""
    meaning: Prose | None
    known: bool


class CompileGraph(msgspec.Struct, frozen=True):
    """A graph made by a compile."""

    slug: str
    direction: str


class LogRecord(msgspec.Struct, frozen=True):
    """One record."""

    id: int
    log: str
    line: int
    lines: int
    kind: str
    name: str | None
    """The artifact's name."""
    known: bool
    compile_id: str | None
    attempt: int | None
    rank: int | None
    pid: int
    artifact: Hidden[int | None]
    """Artifact of its payload."""
    path: str | None
    size: int | None


class Chosen(msgspec.Struct, frozen=True):
    """Filter for records; empty fields match all."""

    log: str = ""
    compile: str = ""
    kind: str = ""
    rank: int | None = None


class LogPage(msgspec.Struct, frozen=True):
    """Log `/runs/{run}/log`."""

    run: RunName
    reading: bool
    """Whether records are still to come."""
    step: str | None
    chosen: Chosen
    after: Hidden[int]
    """Cursor of this page, 0 for the first."""
    logs: list[LogFile]
    kinds: list[KindRow]
    records: list[LogRecord]
    total: int
    """Number of matching records, counted up to a cap."""
    total_capped: bool
    next_cursor: Hidden[int | None]


def log_page(
    session: Session,
    run_id: str,
    chosen: Chosen | None = None,
    after: int = 0,
    limit: int = PAGE,
) -> LogPage:
    """The records after number `after`."""
    run = run_of(session, run_id)
    chosen = chosen or Chosen()
    matching = _matching(run_id, chosen)
    rows = _records(session, matching, after, limit + 1)
    counted = select(func.count()).select_from(
        matching.with_only_columns(LogEntry.id).limit(COUNTED + 1).subquery()
    )
    total = session.scalar(counted) or 0
    logs = _logs(session, run)
    return LogPage(
        run=RunName(run.id, run.name),
        reading=run.state == "reading",
        step=run.step,
        chosen=chosen,
        after=after,
        logs=logs,
        kinds=_kinds(session, run, chosen.log),
        records=rows[:limit],
        total=min(total, COUNTED),
        total_capped=total > COUNTED,
        next_cursor=rows[limit - 1].id if len(rows) > limit else None,
    )


def _matching(run: str, chosen: Chosen) -> Select[Any]:
    query = select(LogEntry).where(LogEntry.run_id == run)
    if chosen.log:
        query = query.where(LogEntry.log == chosen.log)
    if chosen.compile:
        wanted = None if chosen.compile == NO_COMPILE else chosen.compile
        query = query.where(LogEntry.compile_id.is_not_distinct_from(wanted))
    if chosen.kind.startswith(NAMED):
        name = chosen.kind.removeprefix(NAMED)
        query = query.where(LogEntry.kind == ARTIFACT, LogEntry.name == name)
    elif chosen.kind:
        query = query.where(LogEntry.kind == chosen.kind)
    if chosen.rank is not None:
        query = query.where(LogEntry.rank == chosen.rank)
    return query


def _records(session: Session, matching: Select[Any], after: int, limit: int) -> list[LogRecord]:
    query = (
        matching.add_columns(Artifact.path, Artifact.size)
        .outerjoin(Artifact, Artifact.id == LogEntry.artifact_id)
        .where(LogEntry.id > after)
        .order_by(LogEntry.id)
        .limit(limit)
    )
    return [
        view(
            LogRecord,
            entry,
            known=meaning(entry.kind) is not None,
            artifact=entry.artifact_id,
            path=path,
            size=size,
        )
        for entry, path, size in session.execute(query)
    ]


def _logs(session: Session, run: Run) -> list[LogFile]:
    """Returns the logs from the report, or while the run is being read, the logs so far."""
    query = select(Artifact.path, Artifact.id, Artifact.size, Artifact.line_count).where(
        Artifact.run_id == run.id, Artifact.role.in_((TRACE_LOG, TORCH_LOGS))
    )
    stored = {row.path: row for row in session.execute(query)}
    rows = (
        select(LogEntry.log, func.count())
        .where(LogEntry.run_id == run.id)
        .group_by(LogEntry.log)
        .order_by(func.min(LogEntry.id))
    )
    counts = {log: count for log, count in session.execute(rows)}  # noqa: C416  # rows
    reported = {log.path: log for log in run.report.logs}
    logs = []
    for path in dict.fromkeys([*reported, *counts, *(() if reported else stored)]):
        kept = stored.get(path) or stored.get(_unpacked(path))
        begun = LogFile(
            path,
            artifact=kept.id if kept else None,
            lines=kept.line_count if kept else None,
            size=kept.size if kept else None,
            records=counts.get(path, 0),
        )
        log = reported.get(path)
        logs.append(begun if log is None else view(LogFile, log, artifact=begun.artifact))
    return logs


def _unpacked(path: str) -> str:
    """Returns the path of the unpacked log, because compressed logs are stored unpacked."""
    for ending in ENDINGS:
        path = path.removesuffix(ending)
    return path


def _kinds(session: Session, run: Run, log: str) -> list[KindRow]:
    """Returns the kinds of records of one log or all, the most frequent first; names of artifacts
    come after the artifacts."""
    rows = select(LogEntry.kind, LogEntry.name, func.count()).where(LogEntry.run_id == run.id)
    if log:
        rows = rows.where(LogEntry.log == log)
    listed: Counter[str] = Counter()
    for kind, name, count in session.execute(rows.group_by(LogEntry.kind, LogEntry.name)):
        listed[kind] += count
        if kind == ARTIFACT and name:
            listed[NAMED + name] += count
    counts: Counter[str] = Counter()
    for reported in run.report.logs:
        if not log or reported.path == log:
            counts.update(reported.counts)
    counts = counts or listed

    def order(item: tuple[str, int]) -> tuple[int, str, int, str]:
        kind, count = item
        whole = ARTIFACT if kind.startswith(NAMED) else kind
        return -counts[whole], whole, -count - (kind == whole), kind

    return [
        KindRow(
            kind=kind,
            count=count,
            listed=listed[kind],
            meaning=meaning(kind),
            known=kind.startswith(NAMED) or meaning(kind) is not None,
        )
        for kind, count in sorted(counts.items(), key=order)
    ]


def graphs_of_compiles(
    session: Session, run: str, logs: Sequence[str], ids: Collection[str] | None = None
) -> dict[tuple[str, str | None], list[CompileGraph]]:
    """Returns graphs by log and compile id, of `ids` or all. A graph that is in a debug folder too
    is assigned to its log only if there is no other."""
    query = (
        select(Graph.compile_id, Graph.slug, Graph.direction, func.min(Artifact.path))
        .outerjoin(Artifact, and_(Artifact.graph_id == Graph.id, Artifact.derived.is_(False)))
        .where(Graph.run_id == run, Graph.compile_id.is_not(None))
        .group_by(Graph.id, Graph.compile_id, Graph.slug, Graph.direction, Graph.position)
        .order_by(Graph.position)
    )
    if ids is not None:
        query = query.where(Graph.compile_id.in_(ids))
    graphs: dict[tuple[str, str | None], list[CompileGraph]] = {}
    for compile_id, slug, direction, path in session.execute(query):
        own = [log for log in logs if (path or "").startswith(f"{log}/")]
        for log in own or (logs if len(logs) == 1 else ()):
            graphs.setdefault((log, compile_id), []).append(CompileGraph(slug, direction))
    return graphs
