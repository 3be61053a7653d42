"""What was read for a run: every file and log, and what was left out, repaired or guessed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.answers.parts import RunName, run_of
from inductorscope.fields import Hidden, view
from inductorscope.formats.log.kinds import ARTIFACT
from inductorscope.store.database.storable import JsonObject
from inductorscope.store.tables.models import Artifact, Graph

SO_FAR = 2000
"""Number of files listed while a run is being read."""
KINDS_OF_LOG = 8

# torch_trace/dedicated_log_torch_trace_x.log, line 1,234: a payload in a log
_PAYLOAD = re.compile(r"(.+), line ([0-9][0-9,]{0,20})")


class FileRead(msgspec.Struct, frozen=True):
    """One file of an upload and how it was recognised."""

    path: str
    role: str
    size: int
    graph: str | None
    artifact: Hidden[int | None]
    became: str | None
    """What it became, in words; None for runs read by an early version."""


class KindCount(msgspec.Struct, frozen=True):
    """Number of records of a kind."""

    kind: str
    count: int


class LogRead(msgspec.Struct, frozen=True):
    """Figures of a TORCH_TRACE log."""

    path: str
    artifact: Hidden[int | None]
    lines: int
    size: int
    records: int
    graphs: int
    kinds: list[KindCount]
    """The most frequent kinds; artifacts by their names."""
    more_kinds: int


KEPT = ("repaired", "guessed", "removed")
"""Kinds of notes about something that was kept anyway."""


class Note(msgspec.Struct, frozen=True):
    """Something left out, repaired, guessed or removed, and how often in one file."""

    file: str
    reason: str
    count: int
    line: int | None
    """Line of the first case."""
    example: str | None
    artifact: Hidden[int | None]
    """The stored file to open, and the line in it."""
    at_line: int | None


class ReadPage(msgspec.Struct, frozen=True):
    """What was read `/runs/{run}/read`."""

    run: RunName
    reading: bool
    """Whether the run is still being read; then `files` lists those stored so far, and there is no
    report yet."""
    step: str | None
    origin: str
    created_at: datetime
    files: list[FileRead]
    logs: list[LogRead]
    dropped: list[Note]
    """What could not be read."""
    repaired: list[Note]
    """Damaged parts that were read anyway."""
    guessed: list[Note]
    """Conclusions that the files do not state."""
    secrets: list[Note]
    """Secrets removed before the file was stored, by kind."""
    bytes_in: int
    bytes_stored: int


def read_page(session: Session, run_id: str) -> ReadPage:
    run = run_of(session, run_id)
    report: JsonObject = run.report
    query = select(Artifact.path, Artifact.id).where(
        Artifact.run_id == run_id, Artifact.derived.is_(False)
    )
    rows = session.execute(query.order_by(Artifact.id.desc()))
    artifacts = {path: number for path, number in rows}  # noqa: C416  # rows
    stored = {
        item["path"]: artifacts.get(item.get("stored") or item["path"])
        for item in report.get("files", ())
    }
    notes = [_note(item, stored) for item in report.get("dropped", ())]
    reading = run.state == "reading"
    return view(
        ReadPage,
        run,
        run=RunName(run.id, run.name),
        reading=reading,
        files=_so_far(session, run_id) if reading else _files(report, stored),
        logs=[_log(log, stored) for log in report.get("logs", ())],
        dropped=[item for kind, item in notes if kind not in KEPT],
        repaired=[item for kind, item in notes if kind == "repaired"],
        guessed=[item for kind, item in notes if kind == "guessed"],
        secrets=[item for kind, item in notes if kind == "removed"],
    )


def _files(report: JsonObject, stored: Mapping[str, int | None]) -> list[FileRead]:
    return [
        FileRead(
            path=item["path"],
            role=item["role"],
            size=item["size"],
            graph=item.get("graph"),
            artifact=stored[item["path"]],
            became=item.get("became"),
        )
        for item in report.get("files", ())
    ]


def _so_far(session: Session, run: str) -> list[FileRead]:
    """Returns the files stored so far, while there is no report yet."""
    query = (
        select(Artifact, Graph.slug)
        .outerjoin(Graph, Graph.id == Artifact.graph_id)
        .where(Artifact.run_id == run)
        .order_by(Artifact.id)
        .limit(SO_FAR)
    )
    return [
        FileRead(item.path, item.role, item.size, slug, item.id, None)
        for item, slug in session.execute(query)
    ]


def _log(log: JsonObject, stored: Mapping[str, int | None]) -> LogRead:
    counts: dict[str, int] = log.get("counts", {})
    kinds = [
        KindCount(kind, count)
        for kind, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        if kind != ARTIFACT  # artifacts are counted by name
    ]
    return LogRead(
        path=log["path"],
        artifact=stored.get(log["path"]),
        lines=log.get("lines", 0),
        size=log.get("size", 0),
        records=log.get("records", 0),
        graphs=log.get("graphs", 0),
        kinds=kinds[:KINDS_OF_LOG],
        more_kinds=len(kinds[KINDS_OF_LOG:]),
    )


def _note(item: dict[str, Any], stored: Mapping[str, int | None]) -> tuple[str, Note]:
    file, line = str(item["file"]), item.get("line")
    artifact, at_line = stored.get(file), line
    payload = _PAYLOAD.fullmatch(file)
    if artifact is None and payload is not None:
        artifact = stored.get(payload.group(1))
        # A payload starts on the line after its record.
        at_line = int(payload.group(2).replace(",", "")) + (line or 0)
    note = Note(
        file=file,
        reason=item["reason"],
        count=item.get("count", 1),
        line=line,
        example=item.get("example"),
        artifact=artifact,
        at_line=at_line,
    )
    return item.get("kind", "dropped"), note
