"""What was read for a run: every file and log, and what was left out, repaired or guessed."""

import re
from collections.abc import Mapping
from datetime import datetime

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.answers.parts import RunName, run_of
from inductorscope.fields import Hidden, view
from inductorscope.formats.log.kinds import ARTIFACT
from inductorscope.store.report import Note, ReportedLog
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


class NoteRow(Note, kw_only=True):
    """Something left out, repaired, guessed or removed, and how often in one file."""

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
    dropped: list[NoteRow]
    """What could not be read."""
    repaired: list[NoteRow]
    """Damaged parts that were read anyway."""
    guessed: list[NoteRow]
    """Conclusions that the files do not state."""
    secrets: list[NoteRow]
    """Secrets removed before the file was stored, by kind."""
    bytes_in: int
    bytes_stored: int


def read_page(session: Session, run_id: str) -> ReadPage:
    run = run_of(session, run_id)
    report = run.report
    query = select(Artifact.path, Artifact.id).where(
        Artifact.run_id == run_id, Artifact.derived.is_(False)
    )
    rows = session.execute(query.order_by(Artifact.id.desc()))
    artifacts = {path: number for path, number in rows}  # noqa: C416  # rows
    stored = {file.path: artifacts.get(file.stored or file.path) for file in report.files}
    notes = [_note(note, stored) for note in report.dropped]
    reading = run.state == "reading"
    return view(
        ReadPage,
        run,
        run=RunName(run.id, run.name),
        reading=reading,
        files=_so_far(session, run_id)
        if reading
        else [view(FileRead, file, artifact=stored[file.path]) for file in report.files],
        logs=[_log(log, stored) for log in report.logs],
        dropped=[note for note in notes if note.kind == "dropped"],
        repaired=[note for note in notes if note.kind == "repaired"],
        guessed=[note for note in notes if note.kind == "guessed"],
        secrets=[note for note in notes if note.kind == "removed"],
    )


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
        FileRead(item.path, item.role, size=item.size, graph=slug, artifact=item.id, became=None)
        for item, slug in session.execute(query)
    ]


def _log(log: ReportedLog, stored: Mapping[str, int | None]) -> LogRead:
    kinds = [
        KindCount(kind, count)
        for kind, count in sorted(log.counts.items(), key=lambda item: (-item[1], item[0]))
        if kind != ARTIFACT  # artifacts are counted by name
    ]
    return view(
        LogRead,
        log,
        artifact=stored.get(log.path),
        kinds=kinds[:KINDS_OF_LOG],
        more_kinds=len(kinds[KINDS_OF_LOG:]),
    )


def _note(note: Note, stored: Mapping[str, int | None]) -> NoteRow:
    artifact, at_line = stored.get(note.file), note.line
    payload = _PAYLOAD.fullmatch(note.file)
    if artifact is None and payload is not None:
        artifact = stored.get(payload.group(1))
        # A payload starts on the line after its record.
        at_line = int(payload.group(2).replace(",", "")) + (note.line or 0)
    return view(NoteRow, note, artifact=artifact, at_line=at_line)
