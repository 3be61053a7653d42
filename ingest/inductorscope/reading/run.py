"""Reads a folder into a run, which can be opened while it is being read.

The run itself comes first, then the logs with their payloads, then all graphs with their texts:
from here on, everything can be opened. Each graph's nodes, kernels and links follow, and finally
profiles, sources and the report, which completes the run.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace
from sqlalchemy import select

from inductorscope.analyze.time.costs import costs_of
from inductorscope.errors import REFUSED, InWords
from inductorscope.fields import view
from inductorscope.formats.capture_facts import CaptureFacts
from inductorscope.formats.vocabulary import CHROME_TRACE, KEY_AVERAGES, TRACE_LOG
from inductorscope.intake.recognise import Dropped, Intake, recognise
from inductorscope.progress import Progress, silent
from inductorscope.reading.artifacts import FileArtifacts
from inductorscope.reading.beginning import Beginning, HereAlready
from inductorscope.reading.context import Reading
from inductorscope.reading.facts import capture_facts, fill_run
from inductorscope.reading.graphs.apart import start_server
from inductorscope.reading.graphs.compiled import read_compiled
from inductorscope.reading.graphs.graph import GraphRead, read_graphs
from inductorscope.reading.graphs.lay_out import lay_out
from inductorscope.reading.graphs.sources import Sources, add_frames, find_sources
from inductorscope.reading.logs.logs import read_logs, store_story
from inductorscope.reading.notes import Notes
from inductorscope.reading.owner import Owner
from inductorscope.reading.profiles.benchmarks import read_benchmarks
from inductorscope.reading.profiles.tensors import read_saved
from inductorscope.reading.report import BECAME, read_in_words, report_of
from inductorscope.reading.scrubbing import clean_files
from inductorscope.settings import Settings
from inductorscope.store.database.engine import Sessions, sessions
from inductorscope.store.database.private import make_private_folder
from inductorscope.store.runs.draft import ArtifactDraft, RunDraft
from inductorscope.store.runs.writer import RunWriter
from inductorscope.store.tables.models import Run
from inductorscope.units import plural

if TYPE_CHECKING:
    from inductorscope.reading.profiles.profiles import ProfileRead

ALIGNED_AT_ONCE = 256 * 1024
"""See `Reading.aligned_at_once`: aligning this much takes less than a tenth of a second."""
PROFILES = (CHROME_TRACE, KEY_AVERAGES)
"""Roles of files that profiles are made of."""
SHOWN_FILES = 3


class NothingToRead(InWords, ValueError):
    """A folder holds nothing to make a run from; the message says which files were expected."""

    exit_code = REFUSED


class ReadResult(msgspec.Struct, frozen=True):
    """The result of reading a folder."""

    run_id: str
    duplicate: bool
    """Whether the same content was read before; `run_id` is the earlier run."""
    bytes_in: int
    bytes_stored: int
    graphs: int
    kernels: int
    read: str
    """A summary of what was read."""
    dropped: list[Dropped]
    seconds: float = 0.0


def read_run(
    root: Path,
    *,
    session_factory: Sessions,
    origin: str,
    name: str | None = None,
    tags: Sequence[str] = (),
    settings: Settings | None = None,
    progress: Progress = silent,
    owner: Owner | None = None,
    workers: int = 0,
    aligned_at_once: int = ALIGNED_AT_ONCE,
) -> ReadResult:
    """Reads a folder or a file into the database as one run.

    Reading the same content again, or in two processes at once, gives the same run. If reading
    fails, nothing is left behind. `settings` name the folder for large temporary files and limit
    the size of unpacked logs; `workers`: most other processes that may help.
    """
    started = time.monotonic()
    if settings is not None:
        make_private_folder(settings.data)
    progress("Looking through the files", 0, None, None)
    intake = recognise(root, hash_later=True)
    if not intake.known:
        raise NothingToRead(_nothing(intake))
    owner = owner or Owner()
    run = RunDraft(
        content_digest=intake.content_digest,
        name=name or root.resolve().name,
        tags=list(tags),
        origin=origin,
        created_at=datetime.now(UTC),
        bytes_in=sum(file.size for file in intake.files),
    )
    notes = Notes(intake.dropped)
    writer = RunWriter(session_factory, run, owner.reader, owner.guard)
    reading = Reading(
        intake=intake,
        run=run,
        writer=writer,
        sessions=sessions(session_factory.kw["bind"], read_only=True),
        beginning=Beginning(intake, writer, owner, progress),
        files=FileArtifacts(intake, settings.data if settings is not None else None, notes),
        notes=notes,
        progress=progress,
        settings=settings,
        workers=workers,
        aligned_at_once=aligned_at_once,
    )
    try:
        with ExitStack() as kept:
            with _without_collecting():
                rest = _read(reading, kept, name)
            progress("Storing", 0, None, None)
            stored = writer.finish(rest, owner.ended)
    except HereAlready:
        result = _earlier(reading, session_factory)
    except BaseException:
        reading.beginning.discard()
        raise
    else:
        result = _result(reading, stored)
    return replace(result, seconds=time.monotonic() - started)


def _read(reading: Reading, kept: ExitStack, name: str | None) -> list[ArtifactDraft]:
    """Reads an upload step by step. Returns the artifacts that are still to be stored."""
    files, notes = reading.intake.files, reading.notes
    if reading.workers and (reading.intake.graphs or reading.having(TRACE_LOG)):
        start_server()
    reading.beginning.when_known()
    clean_files(reading.intake, notes, reading.folder, kept)
    facts = capture_facts(files, notes)
    logs = read_logs(reading)
    reading.compiled = read_compiled(files, notes)
    graphs = lay_out(reading, logs)  # from here on, every text can be opened
    reading.benchmarks = read_benchmarks(files, notes)

    def meanwhile() -> None:
        store_story(logs, reading.writer)
        reading.writer.index()

    quotes = read_graphs(reading, graphs, meanwhile)
    profiles = _read_profiles(reading, facts, graphs)
    add_frames(quotes, logs.frames)
    sources = find_sources(files, quotes, notes)
    # Use the folder's own name until the files provide a better one.
    standing, reading.run.name = reading.run.name, name or ""
    fill_run(reading.run, files, graphs, logs, profiles, facts, notes)
    reading.run.name = reading.run.name or standing
    rest = _rest(reading, sources, profiles)
    reading.run.report = report_of(reading, logs, graphs, profiles)
    return rest


def _read_profiles(
    reading: Reading, facts: CaptureFacts | None, graphs: list[GraphRead]
) -> list[ProfileRead]:
    profiles: list[ProfileRead] = []
    if reading.having(*PROFILES):
        # Imported here because numpy loads slowly and most uploads have no profile.
        from inductorscope.reading.profiles.join import join_profiles
        from inductorscope.reading.profiles.profiles import draft_of, read_profiles

        reading.progress("Reading profiles", 0, None, None)
        profiles = read_profiles(reading.intake.files, facts, reading.notes, reading.folder)
        join_profiles(profiles, graphs, reading.benchmarks)
        reading.run.profiles = [draft_of(profile) for profile in profiles]
    reading.writer.add_profiles(costs_of)
    return profiles


def _rest(reading: Reading, sources: Sources, profiles: list[ProfileRead]) -> list[ArtifactDraft]:
    """Returns the files that belong to no graph and no log."""
    files = reading.files
    reading.progress("Compressing files", 0, None, None)
    rest = [*files.of_sources(sources), *files.remaining(reading.progress)]
    rest += reading.compiled.texts.values()
    rest += read_saved(reading.intake.files, reading.notes)
    for profile, row in zip(profiles, reading.run.profiles, strict=True):
        if profile.trace_file is not None:
            row.trace = files.draft(profile.trace_file)
    return rest


@contextmanager
def _without_collecting() -> Iterator[None]:
    """Turns garbage collection off: parsing makes many small records and no cycles, and looking for
    cycles takes long."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _result(reading: Reading, stored: int) -> ReadResult:
    run = reading.run
    graphs, kernels = len(run.graphs), sum(graph.kernel_count for graph in run.graphs)
    return ReadResult(
        run_id=run.id,
        duplicate=False,
        bytes_in=run.bytes_in,
        bytes_stored=stored,
        graphs=graphs,
        kernels=kernels,
        read=read_in_words(run.report, graphs, kernels),
        dropped=reading.notes.dropped(),
    )


def _earlier(reading: Reading, session_factory: Sessions) -> ReadResult:
    """Returns the earlier, complete run of the same content."""
    digest = reading.intake.content_digest
    with session_factory() as session:
        run = session.scalars(
            select(Run).where(Run.content_digest == digest, Run.state == "complete")
        ).one_or_none()
        if run is None:
            raise RuntimeError(f"Run {reading.run.id} was stored elsewhere and deleted at once.")
        return view(
            ReadResult,
            run,
            run_id=run.id,
            duplicate=True,
            graphs=run.graph_count,
            kernels=run.kernel_count,
            read=read_in_words(run.report, run.graph_count, run.kernel_count),
            dropped=reading.notes.dropped(),
        )


def _nothing(intake: Intake) -> str:
    if intake.refused:
        first = intake.refused[0]
        return f"{first.path}: {BECAME[first.role]}."
    send = (
        "Send folders of TORCH_COMPILE_DEBUG (output_code.py, fx_graph_*.py, ir_*_fusion.txt) or "
        "depyf, logs of TORCH_TRACE, TORCH_LOGS or tritonparse, profiler traces, key_averages "
        "tables, or the caches of Inductor or Triton."
    )
    count = len(intake.files)
    if not count:
        return f"Nothing here can be read: there are no files. {send}"
    names = ", ".join(file.path for file in intake.files[:SHOWN_FILES])
    more = ", …" if count > SHOWN_FILES else ""
    return f"Nothing here can be read: {plural(count, 'file')} ({names}{more}). {send}"
