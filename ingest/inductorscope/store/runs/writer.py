"""Writing a run while it is being read: what is written can be looked at, and belongs to a reader.

A run that is being read says so, and names who reads it. Every transaction of the reader checks
that it still is the reader's; so one that was overtaken cannot add to it. What a reader leaves
behind unfinished is taken away, by whoever reads the same content next or by a worker's clean-up.
"""

from __future__ import annotations

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

from inductorscope.formats.units import MIB
from inductorscope.store.contents.fulltext import index_texts
from inductorscope.store.database.engine import Sessions, bulk_write
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
    insert_entries,
    insert_graphs,
    insert_header,
    insert_profiles,
    name_traces,
    searchable,
    update_times,
)
from inductorscope.store.tables.models import COMPLETE, READING, Job, Run

SILENT = timedelta(minutes=10)
"""A reader that is no job and has not written for so long is taken to be gone."""
LOOK_AGAIN_SECONDS = 0.5
INDEXED_AT_ONCE = 5 * MIB
"""Bytes of texts: less than a tenth of a second. Each transaction makes a segment of the index, and
merging segments leaves gaps in the file."""
FILLED_AT_ONCE = 5000
"""Kernels whose rows are written in one transaction: about a tenth of a second."""
JOB = "job:"

Guard = Callable[[Session], None]


class TakenOverError(Exception):
    """Somebody else reads the run now, or it was deleted: what we do does not count."""


def reader_here() -> str:
    """A name for a reader that is no job."""
    return f"process:{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"


class RunWriter:
    """The rows of one run, transaction by transaction."""

    def __init__(self, sessions: Sessions, draft: RunDraft, reader: str, guard: Guard) -> None:
        """`guard` runs at the beginning of every transaction and may raise."""
        engine = sessions.kw["bind"]
        assert isinstance(engine, Engine)
        self.draft = draft
        self._sessions = sessions
        self._engine = engine
        self._reader = reader
        self._guard = guard
        self._graph_ids: dict[GraphDraft, int] = {}
        self._artifact_ids: dict[ArtifactDraft, int] = {}
        self._profile_ids: dict[ProfileDraft, int] = {}
        self._unindexed: dict[str, int] = {}
        """Digests and sizes of texts that cannot be searched yet."""

    def begin(self, waiting: Callable[[], None], begun: Callable[[Session, str], None]) -> bool:
        """Makes the run ours; False when the same content is here, whole.

        While somebody else reads the same, this waits for them, calling `waiting` now and then.
        `begun` runs in the transaction in which the run appears.
        """
        while True:
            try:
                with bulk_write(self._engine), self._sessions.begin() as session:
                    self._guard(session)
                    state = self._clear_way(session)
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

    def _clear_way(self, session: Session) -> str | None:
        """State of a run of the same content; one that nobody will finish is taken away first."""
        same = select(Run).where(Run.content_digest == self.draft.content_digest)
        # Held: its reader may be completing it this moment, which makes reader and job another.
        run = session.scalars(same.with_for_update()).first()
        if run is None:
            return None
        if run.state == READING and (run.reader == self._reader or not is_alive(session, run)):
            delete_run(session, run.id)
            session.expunge(run)
            return None
        return run.state

    @contextmanager
    def _writing(self) -> Iterator[Session]:
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
        """Records of a log, with their payloads; `step`: what is being read, in words."""
        if not entries:
            return
        with self._writing() as session:
            self._add_artifacts(
                session, [artifact for _, artifact in entries if artifact is not None]
            )
            for entry, artifact in entries:
                if artifact is not None:
                    entry.artifact_id = self._artifact_ids.pop(artifact)
            insert_entries(session, self.draft.id, [entry for entry, _ in entries])
            session.execute(update(Run).where(Run.id == self.draft.id).values(step=step))

    def add_story(self, parts: Parts) -> None:
        """The story of its compiles, packed."""
        with self._writing() as session:
            insert_story(session, self.draft.id, parts)

    def add_graphs(self, graphs: Sequence[GraphDraft], artifacts: Sequence[ArtifactDraft]) -> None:
        """The graphs, all of them, with the texts that can be looked at from now on."""
        with self._writing() as session:
            self._graph_ids = insert_graphs(session, self.draft.id, graphs)
            self._add_artifacts(session, artifacts)
            session.execute(
                update(Run).where(Run.id == self.draft.id).values(graph_count=len(graphs))
            )

    def fill_graphs(self, graphs: Sequence[GraphDraft], kernels: int, step: str) -> None:
        """What was read of some of the graphs; `kernels` are those of the run so far."""
        some: list[GraphDraft] = []
        for graph in graphs:
            some.append(graph)
            if graph is graphs[-1] or sum(len(one.kernels) for one in some) >= FILLED_AT_ONCE:
                self._fill(some, kernels, step)
                some = []

    def _fill(self, graphs: Sequence[GraphDraft], kernels: int, step: str) -> None:
        with self._writing() as session:
            fill_graphs(session, [(graph, self._graph_ids[graph]) for graph in graphs])
            session.execute(
                update(Run).where(Run.id == self.draft.id).values(kernel_count=kernels, step=step)
            )

    def add_profiles(self, work_out_costs: WorkOutCosts) -> None:
        """What the profiles say, down to kernels, nodes and lines: pages of time answer from now
        on. The files themselves may follow."""
        draft = self.draft
        with self._writing() as session:
            update_times(session, self._graph_ids)
            self._profile_ids = insert_profiles(session, draft.id, draft.profiles)
            insert_costs(session, draft.id, work_out_costs(timed_graphs(session, draft.id)))
        for profile in draft.profiles:
            profile.chunks = []  # stored now, and of no more use here

    def index(self) -> None:
        """What was stored so far can be searched from now on: after people can look at it."""
        while self._unindexed:
            with self._writing() as session:
                self._index(session)

    def finish(
        self, artifacts: Sequence[ArtifactDraft], ended: Callable[[Session, Run], None]
    ) -> int:
        """The rest, and the run is complete. `ended` runs last in the same transaction."""
        draft = self.draft
        self.add_artifacts(artifacts)
        self.index()
        with self._writing() as session:
            name_traces(session, self._profile_ids, self._artifact_ids)
            stored = complete_run(session, draft)
            ended(session, session.get_one(Run, draft.id, populate_existing=True))
        return stored

    def discard(self) -> None:
        """Takes away what was written, as far as it is still ours."""
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
            artifact.content = None  # stored now, and of no more use here

    def _index(self, session: Session) -> None:
        """Some texts: others want to write too."""
        some: list[str] = []
        size = 0
        while self._unindexed and size < INDEXED_AT_ONCE:
            digest, length = self._unindexed.popitem()
            some.append(digest)
            size += length
        index_texts(session, some)


def is_alive(session: Session, run: Run) -> bool:
    """Whether somebody is still reading a run."""
    reader = run.reader or ""
    if reader.startswith(JOB):
        state = session.scalar(select(Job.state).where(Job.id == reader.removeprefix(JOB)))
        return state == "running"
    parts = reader.split(":")
    if len(parts) == 4 and parts[1] == socket.gethostname() and parts[2].isdecimal():
        return _runs_here(int(parts[2]))
    return run.read_at is not None and datetime.now(UTC) - run.read_at < SILENT


def _runs_here(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def discard_unfinished(session: Session, reader: str) -> int:
    """Takes away what a reader left behind; how many runs."""
    query = select(Run.id).where(Run.reader == reader, Run.state == READING)
    runs = list(session.scalars(query))
    for run in runs:
        delete_run(session, run)
    return len(runs)


def discard_abandoned(session: Session) -> int:
    """Takes away runs whose reader is gone; how many."""
    unfinished = session.scalars(select(Run).where(Run.state == READING)).all()
    gone = [run.id for run in unfinished if not is_alive(session, run)]
    return sum(_discard_if_abandoned(session, run) for run in gone)


def _discard_if_abandoned(session: Session, run_id: str) -> bool:
    """Looks once more, and holds the run meanwhile: between two questions its reader may have
    completed it, and with it the job that tells whether the reader lives."""
    query = select(Run).where(Run.id == run_id, Run.state == READING).with_for_update()
    run = session.scalars(query, execution_options={"populate_existing": True}).first()
    if run is None or is_alive(session, run):
        return False
    session.expunge(run)
    delete_run(session, run_id)
    return True
