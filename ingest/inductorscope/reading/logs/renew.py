"""Gathers compile stories again from stored logs when an older version gathered them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from tempfile import TemporaryFile
from typing import BinaryIO

from sqlalchemy import Engine, select

from inductorscope.analyze.compile.gather import StoryGatherer
from inductorscope.analyze.compile.model import Story
from inductorscope.formats.log.text_log import TextLog
from inductorscope.formats.log.tlparse_folder import FolderFile, FolderLog
from inductorscope.formats.log.trace_log import read_trace_log
from inductorscope.formats.unpacking import open_plain
from inductorscope.formats.vocabulary import TLPARSE_RECORD, TORCH_LOGS, TRACE_LOG
from inductorscope.intake.tlparse import folder_of_record, record_of
from inductorscope.progress import Progress, silent
from inductorscope.reading.logs.graphs import rank_of
from inductorscope.reading.logs.torch_logs import read_torch_log
from inductorscope.reading.notes import Notes
from inductorscope.store.contents.texts import stored_text
from inductorscope.store.database.engine import Sessions, bulk_write, folder_of, sessions
from inductorscope.store.report import Report
from inductorscope.store.runs.compile_story import (
    Counts,
    Parts,
    counts_of,
    outdated_stories,
    pack_story,
    replace_story,
)
from inductorscope.store.tables.models import Artifact, Run


def renew_stories(engine: Engine, run: str | None = None, progress: Progress = silent) -> int:
    """Renews the outdated stories of one run or of all; returns how many."""
    reading, writing = sessions(engine, read_only=True), sessions(engine)
    with reading() as session:
        runs = outdated_stories(session, run)
    renewed = 0
    for number, run_id in enumerate(runs):
        progress("Reading logs again", number, len(runs), "runs")
        gathered = _gather(reading, folder_of(engine), run_id)
        if gathered is not None:
            with bulk_write(engine), writing.begin() as session:
                renewed += replace_story(session, run_id, *gathered)
    return renewed


def _gather(reading: Sessions, folder: Path | None, run_id: str) -> tuple[Parts, Counts] | None:
    """Gathers the story as when the upload was read; returns None if a log is not stored."""
    with reading() as session:
        report = session.scalar(select(Run.report).where(Run.id == run_id)) or Report()
    story, spoken = StoryGatherer(), Story()
    logs: dict[str, str] = {}
    folders: dict[str, list[tuple[FolderFile, Callable[[int], bytes]]]] = {}
    for file in report.files:
        path, role, stored = file.path, file.role, file.stored or ""
        of_folder = record_of(PurePosixPath(path)) if role == TLPARSE_RECORD else None
        if of_folder is not None:
            read = partial(_head_of, reading, run_id, stored)
            folders.setdefault(folder_of_record(path), []).append((of_folder, read))
        if role not in (TRACE_LOG, TORCH_LOGS):
            continue
        if stored in logs:
            story.copy(path, rank_of(path), logs[stored])
            continue
        with _stored(reading, folder, run_id, stored) as raw:
            if raw is None:
                return None
            if role == TORCH_LOGS:
                _gather_text(path, raw, story, spoken)
                continue
            logs[stored] = path
            gatherer, log = story.log(path, rank_of(path)), read_trace_log(raw)
            for record in log:
                gatherer.add(record)
            gatherer.finish(log.strings)
    for path, records in folders.items():
        gatherer = story.log(path, rank_of(path), complete=False)
        for record in FolderLog(records):
            gatherer.add(record)
        gatherer.finish({})
    whole, chunks = story.finish()
    whole.spoken += spoken.spoken
    return pack_story(whole, chunks), counts_of(whole, complete=bool(logs))


def _head_of(reading: Sessions, run_id: str, path: str | None, size: int) -> bytes:
    with _stored(reading, None, run_id, path) as raw:
        return b"" if raw is None else raw.read(size)


def _gather_text(path: str, raw: BinaryIO, story: StoryGatherer, spoken: Story) -> None:
    for process in read_torch_log(path, raw, spoken, Notes([])):
        raw.seek(0)
        rank = process[0] if process[0] is not None else rank_of(path)
        gatherer = story.log(path, rank, complete=False)
        for record in TextLog(open_plain(raw), process):
            gatherer.add(record)
        gatherer.finish({})


@contextmanager
def _stored(
    reading: Sessions, folder: Path | None, run_id: str, path: str | None
) -> Iterator[BinaryIO | None]:
    """A stored file as a stream that can seek; None if it is not stored."""
    with reading() as session, TemporaryFile(dir=folder) as target:
        wanted = select(Artifact.digest).where(Artifact.run_id == run_id, Artifact.path == path)
        digest = session.scalar(wanted.limit(1))
        text = None if digest is None else stored_text(session, digest)
        for chunk in () if text is None else text.chunks():
            target.write(chunk)
        session.close()
        target.seek(0)
        yield None if text is None else target
