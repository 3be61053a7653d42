"""A folder → a run: everything is parsed first, then one transaction inserts it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Engine, select
from sqlalchemy.exc import IntegrityError

from ..formats.capture_facts import CaptureFacts
from ..intake.recognise import Dropped, Intake, recognise
from ..settings import Settings
from ..store.draft import RunDraft
from ..store.engine import Sessions, bulk_write
from ..store.models import Run
from ..store.runs import insert_run
from .artifacts import add_artifacts
from .facts import capture_facts, fill_run
from .graph import GraphRead, line_records, link_graph, read_graph
from .logs import give_compile_ids, read_logs
from .notes import Notes
from .profiles import ProfileRead, compiled_profile, draft_of, read_profiles
from .sources import Sources, find_sources, quotes_of
from .times import join_times

Progress = Callable[[str, int, int | None, str | None], None]
"""What is being done, how far, of how much, in which unit."""

SHOWN_FILES = 3


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
) -> ReadResult:
    """Reads a folder (or one file) into the database as one run.

    `extra` are the facts of a capture whose folder does not hold them; `settings` name the data
    folder, where large files are compressed instead of in the system's temporary folder, and bound
    what a compressed log unpacks to. Nothing is visible until all is stored; the same content a
    second time, or from two workers at once, is the same run.
    """
    started = time.monotonic()
    progress("Looking through the files", 0, None, None)
    intake = recognise(root)
    if not intake.known:
        raise NothingToRead(_nothing(intake))
    notes = Notes(intake.dropped)
    earlier = _earlier(session_factory, intake, notes, started)
    if earlier is not None:
        return earlier
    run = RunDraft(
        content_digest=intake.content_digest,
        name=name or "",
        tags=list(tags),
        origin=origin,
        created_at=datetime.now(UTC),
        bytes_in=sum(file.size for file in intake.files),
    )
    if settings is not None:
        settings.data.mkdir(parents=True, exist_ok=True)
    _fill(run, intake, extra, settings, notes, progress)
    run.name = run.name or root.resolve().name
    progress("Storing", 0, None, None)
    bytes_stored = _store(session_factory, run)
    if bytes_stored is None:
        earlier = _earlier(session_factory, intake, notes, started)
        if earlier is None:
            raise RuntimeError(f"Run {run.id} was stored by another worker and deleted at once.")
        return earlier
    return ReadResult(
        run_id=run.id,
        duplicate=False,
        bytes_in=run.bytes_in,
        bytes_stored=bytes_stored,
        graphs=len(run.graphs),
        kernels=sum(graph.generated for graph in run.graphs),
        dropped=notes.dropped(),
        seconds=time.monotonic() - started,
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
    """The run of the same content that is here already, if one is."""
    with session_factory() as session:
        run = session.scalars(
            select(Run).where(Run.content_digest == intake.content_digest)
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


def _fill(
    run: RunDraft,
    intake: Intake,
    extra: CaptureFacts | None,
    settings: Settings | None,
    notes: Notes,
    progress: Progress,
) -> None:
    files = intake.files
    facts = extra or capture_facts(files, notes)
    graphs: list[GraphRead] = []
    for number, graph_folder in enumerate(intake.graphs):
        progress("Reading graphs", number, len(intake.graphs), "graphs")
        graphs.append(read_graph(graph_folder, notes))
    graphs.sort(key=GraphRead.order)
    run.graphs = [graph.draft for graph in graphs]
    sources = find_sources(
        files, quotes_of(text for graph in graphs for text in graph.fx.values()), notes
    )
    progress("Reading logs", 0, None, None)
    logs = read_logs(files, notes, settings.max_unpacked_bytes if settings is not None else None)
    give_compile_ids(graphs, logs)
    progress("Reading profiles", 0, None, None)
    profiles = read_profiles(files, facts, notes)
    _join(profiles, graphs)
    _link(graphs, intake, sources, notes, progress)
    fill_run(run, files, graphs, logs, profiles, facts, notes)
    run.profiles = [draft_of(profile) for profile in profiles]
    folder = settings.data if settings is not None else None
    add_artifacts(run, intake, sources, profiles, folder, notes, progress)


def _join(profiles: list[ProfileRead], graphs: list[GraphRead]) -> None:
    profile = compiled_profile(profiles)
    if profile is None or profile.trace is None or not graphs:
        return
    joined = join_times(profile.trace, graphs, profile.steps)
    profile.facts |= {
        "joined_to_code": True,
        "steps_used": joined.steps,
        "steps_from": joined.steps_from,
        "kernel_us": joined.kernel_us,
        "attributed_us": joined.attributed_us,
    }


def _link(
    graphs: list[GraphRead], intake: Intake, sources: Sources, notes: Notes, progress: Progress
) -> None:
    texts = sources.all()
    records: dict[str, dict[str, object]] = {}
    for file in intake.files:
        if file.role == "line_record":
            records |= line_records(file.absolute.read_bytes())
    for number, graph in enumerate(graphs):
        progress("Linking lines", number, len(graphs), "graphs")
        link_graph(graph, texts, records.get(graph.folder.name), notes)


def _store(session_factory: Sessions, run: RunDraft) -> int | None:
    """One transaction; the bytes it took. None when somebody else stored the same meanwhile."""
    engine = session_factory.kw["bind"]
    assert isinstance(engine, Engine)
    try:
        with bulk_write(engine), session_factory.begin() as session:
            same = select(Run.id).where(Run.content_digest == run.content_digest)
            if session.scalars(same).first() is not None:
                return None
            return insert_run(session, run)
    except IntegrityError as error:
        if "runs" not in str(error.orig):
            raise
        return None
