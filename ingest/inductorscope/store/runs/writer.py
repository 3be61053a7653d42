"""Writes a run while it is being read; pages show the parts that are written.

The row of such a run names its reader. Each of the reader's transactions checks that name, so a
reader that was replaced cannot add to the run. A run that a reader leaves unfinished is deleted by
the next reader of the same content or by a worker's clean-up.
"""

import os
import secrets
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from sqlalchemy import CursorResult, Engine, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from inductorscope.disk import check_room
from inductorscope.formats.sizes import MIB
from inductorscope.store.contents.fulltext import index_texts
from inductorscope.store.database.bulk import insert_records
from inductorscope.store.database.engine import Sessions, bulk_write, folder_of
from inductorscope.store.runs.compile_story import Parts, insert_story
from inductorscope.store.runs.costs import WorkOutCosts, insert_costs, timed_graphs
from inductorscope.store.runs.draft import (
    ArtifactDraft,
    GraphDraft,
    LogEntryDraft,
    ProfileDraft,
    RunDraft,
)
from inductorscope.store.runs.runs import (
    complete_run,
    delete_run,
    fill_graphs,
    insert_artifacts,
    insert_graphs,
    insert_header,
    insert_profiles,
    name_traces,
    searchable,
    update_times,
)
from inductorscope.store.tables.models import COMPLETE, READING, Job, LogEntry, Run

SILENT = timedelta(minutes=10)
"""A reader without a job that has not written for this long counts as dead."""
LOOK_AGAIN_SECONDS = 0.5
INDEXED_AT_ONCE = 5 * MIB
"""Bytes of texts indexed in one transaction, in less than a tenth of a second. Each transaction
adds a segment to the index, and merging segments leaves gaps in the file."""
FILLED_AT_ONCE = 5000
"""Kernels whose rows are written in one transaction, in about a tenth of a second."""
JOB = "job:"

Guard = Callable[[Session], None]


class TakenOverError(Exception):
    """Another reader has taken the run over, or it was deleted; this reader must stop."""


def process_reader() -> str:
    """Returns a name for a reader without a job."""
    return f"process:{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"


class RunWriter:
    """Writes the rows of one run, transaction by transaction."""

    def __init__(self, sessions: Sessions, draft: RunDraft, reader: str, guard: Guard) -> None:
        """`guard` runs at the start of every transaction and may raise."""
        engine = sessions.kw["bind"]
        assert isinstance(engine, Engine)
        self.draft = draft
        self._sessions = sessions
        self._engine = engine
        self._folder = folder_of(engine)
        self._reader = reader
        self._guard = guard
        self._graph_ids: dict[GraphDraft, int] = {}
        self._artifact_ids: dict[ArtifactDraft, int] = {}
        self._profile_ids: dict[ProfileDraft, int] = {}
        self._unindexed: dict[str, int] = {}
        """Digests and sizes of texts that cannot be searched yet."""

    def begin(self, waiting: Callable[[], None], begun: Callable[[Session, str], None]) -> bool:
        """Claims the run for this reader; returns False if the same content is stored completely.

        While another reader reads the same content, this waits and calls `waiting` repeatedly.
        `begun` runs in the transaction that creates the run.
        """
        while True:
            try:
                with bulk_write(self._engine), self._sessions.begin() as session:
                    self._guard(session)
                    state = self._discard_if_dead(session)
                    if state is None:
                        insert_header(session, self.draft, self._reader)
                        begun(session, self.draft.id)
                        return True
            except IntegrityError as error:
                if "runs" not in str(error.orig):
                    raise
                continue
            if state == COMPLETE:
                return False
            waiting()
            time.sleep(LOOK_AGAIN_SECONDS)

    def _discard_if_dead(self, session: Session) -> str | None:
        """Returns the state of a run with the same content, after deleting an abandoned one or
        one in the trash."""
        same = select(Run).where(Run.content_digest == self.draft.content_digest)
        # Locked: its reader may be completing it right now, which changes reader and job.
        run = session.scalars(same.with_for_update()).first()
        if run is None:
            return None
        abandoned = run.state == READING and (
            run.reader == self._reader or not is_alive(session, run)
        )
        if abandoned or run.trashed_at is not None:  # deleted runs are read again
            delete_run(session, run.id)
            session.expunge(run)
            return None
        return run.state

    @contextmanager
    def _writing(self) -> Iterator[Session]:
        if self._folder is not None:
            check_room(self._folder, part=0.5)
        with bulk_write(self._engine), self._sessions.begin() as session:
            self._guard(session)
            result = session.execute(
                update(Run)
                .where(Run.id == self.draft.id, Run.reader == self._reader, Run.state == READING)
                .values(read_at=datetime.now(UTC))
            )
            assert isinstance(result, CursorResult)
            if result.rowcount != 1:
                raise TakenOverError
            yield session

    def add_artifacts(self, artifacts: Sequence[ArtifactDraft]) -> None:
        if artifacts:
            with self._writing() as session:
                self._add_artifacts(session, artifacts)

    def add_records(
        self, entries: Sequence[tuple[LogEntryDraft, ArtifactDraft | None]], step: str
    ) -> None:
        """Adds records of a log with their payloads; `step`: the current step, in words."""
        if not entries:
            return
        with self._writing() as session:
            self._add_artifacts(
                session, [artifact for _, artifact in entries if artifact is not None]
            )
            for entry, artifact in entries:
                if artifact is not None:
                    entry.artifact_id = self._artifact_ids.pop(artifact)
            drafts = [entry for entry, _ in entries]
            insert_records(session, LogEntry, drafts, run_id=self.draft.id)
            session.execute(update(Run).where(Run.id == self.draft.id).values(step=step))

    def add_story(self, parts: Parts) -> None:
        """Adds the packed story of the run's compiles."""
        with self._writing() as session:
            insert_story(session, self.draft.id, parts)

    def add_graphs(self, graphs: Sequence[GraphDraft], artifacts: Sequence[ArtifactDraft]) -> None:
        """Adds all graphs, with the texts that pages can show from now on."""
        with self._writing() as session:
            self._graph_ids = insert_graphs(session, self.draft.id, graphs)
            self._add_artifacts(session, artifacts)
            session.execute(
                update(Run).where(Run.id == self.draft.id).values(graph_count=len(graphs))
            )

    def fill_graphs(self, graphs: Sequence[GraphDraft], kernels: int, step: str) -> None:
        """Adds parts of some graphs; `kernels` is the number of kernels in the run so far."""
        batch: list[GraphDraft] = []
        for graph in graphs:
            batch.append(graph)
            if graph is graphs[-1] or sum(len(item.kernels) for item in batch) >= FILLED_AT_ONCE:
                self._fill(batch, kernels, step)
                batch = []

    def _fill(self, graphs: Sequence[GraphDraft], kernels: int, step: str) -> None:
        with self._writing() as session:
            fill_graphs(session, [(graph, self._graph_ids[graph]) for graph in graphs])
            session.execute(
                update(Run).where(Run.id == self.draft.id).values(kernel_count=kernels, step=step)
            )

    def add_profiles(self, work_out_costs: WorkOutCosts) -> None:
        """Adds the profiles, with the times of kernels, nodes and lines, so that the time pages
        work. The files themselves may be added later."""
        draft = self.draft
        with self._writing() as session:
            update_times(session, self._graph_ids)
            self._profile_ids = insert_profiles(session, draft.id, draft.profiles)
            insert_costs(session, draft.id, work_out_costs(timed_graphs(session, draft.id)))
        for profile in draft.profiles:
            profile.timeline = None  # stored and no longer needed

    def index(self) -> None:
        """Makes the stored texts searchable, some at a time, so that other writers get their turn;
        called after pages can show them."""
        while self._unindexed:
            digests: list[str] = []
            size = 0
            while self._unindexed and size < INDEXED_AT_ONCE:
                digest, length = self._unindexed.popitem()
                digests.append(digest)
                size += length
            with self._writing() as session:
                index_texts(session, digests)

    def finish(
        self, artifacts: Sequence[ArtifactDraft], ended: Callable[[Session, Run], None]
    ) -> int:
        """Adds the rest and completes the run. `ended` runs last in the same transaction."""
        draft = self.draft
        self.add_artifacts(artifacts)
        self.index()
        with self._writing() as session:
            name_traces(session, self._profile_ids, self._artifact_ids)
            stored = complete_run(session, draft)
            ended(session, session.get_one(Run, draft.id, populate_existing=True))
        return stored

    def discard(self) -> None:
        """Deletes the run if it still belongs to this reader."""
        with bulk_write(self._engine), self._sessions.begin() as session:
            ours = select(Run.id).where(
                Run.id == self.draft.id, Run.reader == self._reader, Run.state == READING
            )
            if session.scalar(ours) is not None:
                delete_run(session, self.draft.id)

    def _add_artifacts(self, session: Session, artifacts: Sequence[ArtifactDraft]) -> None:
        self._artifact_ids |= insert_artifacts(session, self.draft.id, artifacts, self._graph_ids)
        self._unindexed |= {item.digest: item.size for item in searchable(artifacts)}
        for artifact in artifacts:
            artifact.content = None  # stored and no longer needed


def is_alive(session: Session, run: Run) -> bool:
    """Whether a run's reader is still alive."""
    reader = run.reader or ""
    if reader.startswith(JOB):
        state = session.scalar(select(Job.state).where(Job.id == reader.removeprefix(JOB)))
        return state == "running"
    parts = reader.split(":")
    if len(parts) == 4 and parts[1] == socket.gethostname() and parts[2].isdecimal():
        return _process_runs(int(parts[2]))
    return run.read_at is not None and datetime.now(UTC) - run.read_at < SILENT


def _process_runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError as error:
        return isinstance(error, PermissionError)
    return True


def discard_unfinished(session: Session, reader: str) -> int:
    """Deletes the unfinished runs of a reader; returns their number."""
    query = select(Run.id).where(Run.reader == reader, Run.state == READING)
    runs = list(session.scalars(query))
    for run in runs:
        delete_run(session, run)
    return len(runs)


def abandoned_runs(session: Session) -> list[str]:
    """Returns the unfinished runs whose reader is dead."""
    unfinished = session.scalars(select(Run).where(Run.state == READING)).all()
    return [run.id for run in unfinished if not is_alive(session, run)]


def discard_abandoned(session: Session) -> int:
    """Deletes runs whose reader is dead; returns their number."""
    return sum(_discard_if_abandoned(session, run) for run in abandoned_runs(session))


def _discard_if_abandoned(session: Session, run_id: str) -> bool:
    """Locks the run and checks it again: between two queries its reader may have completed it, and
    with it the job that shows whether the reader is alive."""
    query = select(Run).where(Run.id == run_id, Run.state == READING).with_for_update()
    run = session.scalars(query, execution_options={"populate_existing": True}).first()
    if run is None or is_alive(session, run):
        return False
    session.expunge(run)
    delete_run(session, run_id)
    return True
