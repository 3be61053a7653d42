"""A folder → a run, written as it is read.

First the run itself, then the logs with their payloads, then all graphs with their texts: from here
on everything can be looked at. Then each graph's nodes, kernels and links, and at last profiles,
sources and the report, with which the run is complete.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.formats.capture_facts import CaptureFacts
from inductorscope.formats.vocabulary import CHROME_TRACE, CODE, LINE_RECORD
from inductorscope.intake.recognise import Dropped, Intake, recognise
from inductorscope.processes.allocation import give_back
from inductorscope.reading.artifacts import FileArtifacts
from inductorscope.reading.beginning import Beginning, HereAlready
from inductorscope.reading.facts import capture_facts, fill_run
from inductorscope.reading.graphs.ahead import ALIGNED_AT_ONCE, GraphsAhead
from inductorscope.reading.graphs.graph import GraphRead, GraphReader, direction_of, line_records
from inductorscope.reading.graphs.merging import folder_sources, merge
from inductorscope.reading.graphs.pool import Pool
from inductorscope.reading.graphs.sources import find_sources
from inductorscope.reading.graphs.texts_of import aot_id_of
from inductorscope.reading.logs.logs import LogFacts, LogReading, read_logs, store_story
from inductorscope.reading.notes import Notes
from inductorscope.reading.owner import Owner, owner_here
from inductorscope.reading.profiles.ahead import PROFILES, TracesAhead
from inductorscope.reading.profiles.benchmarks import Benchmarks, read_benchmarks
from inductorscope.reading.profiles.tensors import read_saved
from inductorscope.reading.report import report_of
from inductorscope.settings import Settings
from inductorscope.store.contents.blobs import content_of_bytes
from inductorscope.store.database.engine import Sessions, address_of
from inductorscope.store.runs.draft import ArtifactDraft, GraphDraft, RunDraft, artifact_of
from inductorscope.store.runs.writer import RunWriter
from inductorscope.store.tables.models import Run

if TYPE_CHECKING:
    from inductorscope.reading.profiles.profiles import ProfileRead

Progress = Callable[[str, int, int | None, str | None], None]
"""What is being done, how far, of how much, in which unit."""

SHOWN_FILES = 3
MOST_NAMES = 50_000
"""Names of kernels by which a run is found."""


class NothingToRead(ValueError):
    """A folder holds nothing a run could be made of; the message says what was looked for."""


@dataclass(frozen=True, slots=True)
class ReadResult:
    """What became of a folder."""

    run_id: str
    duplicate: bool
    """The same content was here already; `run_id` is the earlier run."""
    bytes_in: int
    bytes_stored: int
    graphs: int
    kernels: int
    dropped: list[Dropped]
    seconds: float
    browsable_seconds: float | None = None
    """After which every text could be looked at."""


def read_run(
    root: Path,
    *,
    session_factory: Sessions,
    origin: str,
    name: str | None = None,
    tags: Sequence[str] = (),
    extra: CaptureFacts | None = None,
    settings: Settings | None = None,
    progress: Progress = lambda step, done, total, unit: None,
    owner: Owner | None = None,
    pool: Pool | None = None,
    aligned_at_once: int = ALIGNED_AT_ONCE,
) -> ReadResult:
    """Reads a folder (or one file) into the database as one run.

    `extra` are the facts of a capture whose folder does not hold them; `settings` name the data
    folder, where large files are compressed instead of in the system's temporary folder, and bound
    what a compressed log unpacks to. The same content a second time, or from two workers at once,
    is the same run; a reading that fails leaves nothing behind. `pool`: other processes that help.
    """
    started = time.monotonic()
    if settings is not None:
        settings.data.mkdir(parents=True, exist_ok=True)
    progress("Looking through the files", 0, None, None)
    pool = pool or Pool(workers=0)
    ahead = TracesAhead(pool, settings.data if settings is not None else None)
    intake = recognise(root, ahead.noticed, beside=True)
    if not intake.known:
        raise NothingToRead(_nothing(intake))
    notes = Notes(intake.dropped)
    run = RunDraft(
        content_digest=intake.content_digest,
        name=name or root.resolve().name,
        tags=list(tags),
        origin=origin,
        created_at=datetime.now(UTC),
        bytes_in=sum(file.size for file in intake.files),
    )
    owner = owner or owner_here()
    writer = RunWriter(session_factory, run, owner.reader, owner.guard)

    def earlier() -> ReadResult | None:
        return _earlier(session_factory, intake, notes, started)

    def waiting() -> None:
        progress("Waiting for another job that reads the same files", 0, None, None)

    beginning = Beginning(intake, writer, owner, lambda: earlier() is not None, waiting)
    reading = _Reading(
        run,
        intake,
        writer,
        session_factory,
        settings,
        notes,
        progress,
        pool,
        ahead,
        aligned_at_once,
        beginning,
    )
    try:
        beginning.when_known()
        with _without_collecting():
            reading.read(name, extra)
        progress("Storing", 0, None, None)
        stored = reading.finish(owner.ended)
    except HereAlready:
        reading.graphs_ahead.abandon()
        known = earlier()
        if known is None:
            message = f"Run {run.id} was stored by another worker and deleted at once."
            raise RuntimeError(message) from None
        return known
    except BaseException:
        reading.graphs_ahead.abandon()
        if beginning.begun:
            writer.discard()
        raise
    return ReadResult(
        run_id=run.id,
        duplicate=False,
        bytes_in=run.bytes_in,
        bytes_stored=stored,
        graphs=len(run.graphs),
        kernels=sum(graph.generated for graph in run.graphs),
        dropped=notes.dropped(),
        seconds=time.monotonic() - started,
        browsable_seconds=None if reading.browsable is None else reading.browsable - started,
    )


def _nothing(intake: Intake) -> str:
    looked = (
        "Nothing here can be read. Looked for folders of TORCH_COMPILE_DEBUG (output_code.py, "
        "fx_graph_*.py, ir_*_fusion.txt), TORCH_TRACE logs, profiler traces and key_averages "
        "tables"
    )
    count = len(intake.files)
    if not count:
        return f"{looked}; there are no files."
    names = ", ".join(file.path for file in intake.files[:SHOWN_FILES])
    more = ", …" if count > SHOWN_FILES else ""
    return f"{looked} in {count:,} {'file' if count == 1 else 'files'} ({names}{more})."


def _earlier(
    session_factory: Sessions,
    intake: Intake,
    notes: Notes,
    started: float,
) -> ReadResult | None:
    """The whole run of the same content that is here already, if one is."""
    with session_factory() as session:
        run = session.scalars(
            select(Run).where(Run.content_digest == intake.content_digest, Run.state == "complete")
        ).one_or_none()
        if run is None:
            return None
        return ReadResult(
            run_id=run.id,
            duplicate=True,
            bytes_in=run.bytes_in,
            bytes_stored=run.bytes_stored,
            graphs=run.graph_count,
            kernels=run.kernel_count,
            dropped=notes.dropped(),
            seconds=time.monotonic() - started,
        )


@contextmanager
def _without_collecting() -> Iterator[None]:
    """Parsing makes many small records and no cycles: looking for them costs a third of the time.

    What a graph leaves is freed by counting; one look a graph keeps the rest in bounds.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


class _Reading:
    """One reading of one upload, step by step."""

    def __init__(
        self,
        run: RunDraft,
        intake: Intake,
        writer: RunWriter,
        sessions: Sessions,
        settings: Settings | None,
        notes: Notes,
        progress: Progress,
        pool: Pool,
        ahead: TracesAhead,
        aligned_at_once: int,
        beginning: Beginning,
    ) -> None:
        self.pool = pool
        self.ahead = ahead
        self.beginning = beginning
        lone = not intake.graphs and all(file.role != LINE_RECORD for file in intake.files)
        self.graphs_ahead = GraphsAhead(pool, aligned_at_once, wanted=lone)
        self.aligned_at_once = aligned_at_once
        self.run = run
        self.intake = intake
        self.writer = writer
        self.sessions = sessions
        self.settings = settings
        self.notes = notes
        self.progress = progress
        self.folder = settings.data if settings is not None else None
        self.files = FileArtifacts(intake, self.folder, notes)
        self.benchmarks = Benchmarks()
        self.browsable: float | None = None
        self.rest: list[ArtifactDraft] = []

    def read(self, name: str | None, extra: CaptureFacts | None) -> None:
        facts = extra or capture_facts(self.intake.files, self.notes)
        logs = self._read_logs()
        graphs = self._lay_out(logs)
        give_back()  # of what the logs took, before other processes begin with a copy of the rest
        if not graphs:
            self.pool.keep(0 if self.ahead.begun else 1)  # a lone trace needs no more
        quotes = self._read_graphs(graphs, logs)
        sources = find_sources(self.intake.files, quotes, self.notes)
        profiles = self._read_profiles(facts, graphs)
        # The folder's own name serves until the files tell a better one.
        standing, self.run.name = self.run.name, name or ""
        fill_run(self.run, self.intake.files, graphs, logs, profiles, facts, self.notes)
        self.run.name = self.run.name or standing
        self.progress("Compressing files", 0, None, None)
        self.rest = [*self.files.of_sources(sources), *self.files.remaining(self.progress)]
        self.rest += read_saved(self.intake.files, self.notes)
        for profile, row in zip(profiles, self.run.profiles, strict=True):
            if profile.trace_file is not None:
                row.trace = self.files.draft(profile.trace_file)
        self.run.report = report_of(
            self.intake, self.files, logs, graphs, profiles, self.benchmarks, self.notes
        )

    def _read_profiles(
        self, facts: CaptureFacts | None, graphs: list[GraphRead]
    ) -> list[ProfileRead]:
        if not any(file.role in PROFILES for file in self.intake.files):
            self.writer.add_profiles()
            return []
        # Only here: what most uploads are quicker without.
        from inductorscope.reading.profiles.join import join_profiles
        from inductorscope.reading.profiles.profiles import draft_of, read_profiles

        self.progress("Reading profiles", 0, None, None)
        profiles = read_profiles(self.intake.files, facts, self.notes, self.ahead)
        join_profiles(profiles, graphs, self.benchmarks)
        self.run.profiles = [draft_of(profile) for profile in profiles]
        self.writer.add_profiles()
        return profiles

    def finish(self, ended: Callable[[Session, Run], None]) -> int:
        return self.writer.finish(self.rest, ended)

    def _read_logs(self) -> LogFacts:
        unpacked = self.settings.max_unpacked_bytes if self.settings is not None else None
        reading = LogReading(
            self.writer,
            self.sessions,
            self.folder,
            unpacked,
            self.notes,
            self.progress,
            self.beginning,
            self.graphs_ahead,
        )
        return read_logs(self.intake.files, reading)

    def _lay_out(self, logs: LogFacts) -> list[GraphRead]:
        """All graphs and their texts: what there is can be looked at from now on."""
        sources = merge(folder_sources(self.intake), logs.graphs, self.notes)
        graphs = []
        for source in sources:
            code = source.texts.get(CODE)
            aot_id = None if code is None else aot_id_of(code)
            draft = GraphDraft(source.slug, source.name, direction_of(aot_id, source))
            draft.aot_id, draft.compile_id = aot_id, source.compile_id
            graphs.append(GraphRead(source, draft))
        graphs.sort(key=GraphRead.order)
        self.run.graphs = [graph.draft for graph in graphs]
        by_slug = {graph.source.slug: graph.draft for graph in graphs}
        artifacts = [
            artifact_of(role, text.path, content_of_bytes(text.read()), text.lines,
                        derived=True, graph=graph.draft)
            for graph in graphs
            for role, text in graph.source.texts.items()
            if text.put_together
        ]  # fmt: skip
        artifacts += self.files.of_graphs(by_slug, self.progress)
        artifacts += [
            ArtifactDraft(role, text.path, text.digest, text.size, None, text.lines,
                          graph=graph.draft)
            for graph in graphs
            for role, text in graph.source.texts.items()
            if text.file is None and not text.put_together
        ]  # fmt: skip
        self.writer.add_graphs(self.run.graphs, artifacts)
        self.browsable = time.monotonic()
        return graphs

    def _read_graphs(self, graphs: list[GraphRead], logs: LogFacts) -> dict[str, dict[int, str]]:
        records: dict[str, dict[str, object]] = {}
        for file in self.intake.files:
            if file.role == LINE_RECORD:
                records |= line_records(file.absolute.read_bytes())
        self.benchmarks = read_benchmarks(self.intake.files, self.notes)
        engine = self.sessions.kw["bind"]
        reader = GraphReader(
            self.notes,
            records,
            self.benchmarks,
            self.pool,
            self.aligned_at_once,
            address_of(engine),
            self.graphs_ahead,
        )
        kernels = linked = 0
        timed = any(file.role == CHROME_TRACE for file in self.intake.files)

        def meanwhile() -> None:
            store_story(logs, self.writer)
            self.writer.index()

        self.progress("Linking lines", 0, len(graphs), "graphs")
        for alike in reader.read(graphs, meanwhile):
            linked += len(alike)
            kernels += sum(graph.draft.generated for graph in alike)
            step = f"{linked:,} of {len(graphs):,} graphs are linked"
            self.progress("Linking lines", linked, len(graphs), "graphs")
            self.writer.fill_graphs([graph.draft for graph in alike], kernels, step)
            for graph in alike:
                names = (kernel.name for kernel in graph.draft.kernels)
                if len(self.run.kernel_names) < MOST_NAMES:
                    self.run.kernel_names |= dict.fromkeys(names)
                graph.draft.let_go(kernels=not timed)
        return reader.quotes
