"""Finds what a crash or a person broke in the database and the data folder, and repairs it."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import methodcaller

import msgspec
from dbos import DBOSClient
from sqlalchemy import delete, exists, inspect, select, text
from sqlalchemy.orm import Session

from inductorscope.formats.vocabulary import SEARCHED
from inductorscope.jobs.queue import transitions
from inductorscope.jobs.queue.engine import QUEUES, make_client, prepare
from inductorscope.jobs.queue.machines import ANY, living_machines, why_nobody
from inductorscope.jobs.queue.reaper import Reaper
from inductorscope.jobs.records import QUEUED
from inductorscope.jobs.work.folders import leftovers, sweep
from inductorscope.settings import Settings
from inductorscope.store.contents.blobs import delete_objects, free_blobs, hold_blobs, unused
from inductorscope.store.contents.checking import (
    Shares,
    damaged_contents,
    runs_with,
    shares,
)
from inductorscope.store.contents.fulltext import index_texts, unindex
from inductorscope.store.contents.objects import objects_of
from inductorscope.store.database.engine import Sessions, make_engine, sessions
from inductorscope.store.database.room import give_back
from inductorscope.store.runs.writer import abandoned_runs, discard_abandoned
from inductorscope.store.tables.all import TABLES
from inductorscope.store.tables.models import (
    COMPLETE,
    Artifact,
    Blob,
    Job,
    Run,
    TextFrame,
)
from inductorscope.store.trash import WITH_TRASH
from inductorscope.units import plural, size_in_bytes, some

_WAITING = select(Job.spec).where(Job.state == QUEUED)
INDEXED_AT_ONCE = 50


class Finding(msgspec.Struct, frozen=True):
    """Something that is not as it should be."""

    what: str
    repair: Callable[[], object] | None = None
    """Repairs it; None if only a person can."""


class Doctor:
    """Examines one installation; servers and workers may keep running."""

    def __init__(self, settings: Settings) -> None:
        prepare(settings)
        self._settings = settings
        self._engine = make_engine(settings)
        self._write: Sessions = sessions(self._engine)
        self._read: Sessions = sessions(self._engine, read_only=True)
        self._client: DBOSClient = make_client(settings)
        self._reaper = Reaper(settings, self._write, self._client)

    def close(self) -> None:
        self._client.destroy()
        self._engine.dispose()

    def shares(self) -> Shares:
        with self._read() as session:
            return shares(session)

    def findings(self) -> Iterator[Finding]:
        """Yields what is wrong. A repair may cause further findings, so each check runs after the
        repairs of the checks before it."""
        yield from self._file()
        if lacking := self._lacking():
            yield Finding(
                f"The database lacks {some(lacking)}, which this version reads: it was made by "
                "another version of the same revision. Read its files into a new data folder."
            )
            return  # other checks would fail
        for check in (
            self._rows, self._missing, self._damaged, self._runs, self._unused,
            self._objects, self._search, self._jobs, self._leftovers,
        ):  # fmt: skip
            yield from check()

    def _file(self) -> Iterator[Finding]:
        if self._engine.dialect.name == "sqlite":
            with self._read() as session:
                said = session.scalars(text("PRAGMA quick_check(1)")).all()
            if said != ["ok"]:
                yield Finding(f"The database file is damaged, restore a backup. SQLite: {said[0]}")

    def _lacking(self) -> list[str]:
        """Returns the tables, columns and indexes of the models that the database lacks."""
        found = inspect(self._engine)
        known = set(found.get_table_names())
        lacking: list[str] = []
        for name, table in TABLES.tables.items():
            if name not in known:
                lacking.append(f"the table {name}")
                continue
            columns = {column["name"] for column in found.get_columns(name)}
            lacking += [f"{name}.{own.name}" for own in table.columns if own.name not in columns]
            indexes = {index["name"] for index in found.get_indexes(name)}
            lacking += [f"the index {own.name}" for own in table.indexes if own.name not in indexes]
        return lacking

    def _rows(self) -> Iterator[Finding]:
        """Finds rows whose owner is gone; PostgreSQL never has any."""
        if self._engine.dialect.name != "sqlite":
            return
        with self._read() as session:
            broken = session.execute(text("PRAGMA foreign_key_check")).all()
        for table in sorted({row[0] for row in broken} & TABLES.tables.keys()):
            of_contents = table in ("artifacts", "blob_parts")  # see `_missing` and `_damaged`
            rows = [
                row.rowid
                for row in broken
                if row[0] == table and not (of_contents and row.parent == "blobs")
            ]
            if rows:
                what = f"The owner of {plural(len(rows), 'row')} of {table} is gone."
                gone = text(f"DELETE FROM {table} WHERE rowid = :row")  # noqa: S608  # a known table
                repair = methodcaller("execute", gone, [{"row": row} for row in rows])
                yield Finding(what, partial(self._in_transaction, repair))

    def _missing(self) -> Iterator[Finding]:
        lost = ~exists().where(Blob.digest == Artifact.digest)
        with self._read() as session:
            files = select(Artifact.run_id, Artifact.path).where(lost)
            rows = session.execute(files, execution_options=WITH_TRASH).all()
        for run in sorted({row.run_id for row in rows}):
            paths = [row.path for row in rows if row.run_id == run]
            what = f"The content of {some(paths)} of run {run} is missing."
            gone = methodcaller("execute", delete(Artifact).where(Artifact.run_id == run, lost))
            repair = partial(self._in_transaction, gone)
            yield Finding(f"{what} Delete the run and send its files again.", repair)

    def _objects(self) -> Iterator[Finding]:
        """Finds objects without a row; contents without an object are reported as damaged."""
        with self._read() as session:
            objects = objects_of(session)
            if objects is None:
                return
            stored = set(session.scalars(select(Blob.digest)))
        left = [digest for digest in objects.digests() if digest not in stored]
        if left:
            what = f"The object store has {plural(len(left), 'object')} that no row names."
            yield Finding(what, partial(delete_objects, self._write(), objects, left))

    def _damaged(self) -> Iterator[Finding]:
        for digest in damaged_contents(self._read):
            with self._read() as session:
                runs = runs_with(session, digest)
            yield Finding(
                f"The content {digest[:16]} of {some(runs) or 'no run'} is damaged. Restore a "
                "backup, or delete these runs and send their files again."
            )

    def _runs(self) -> Iterator[Finding]:
        with self._read() as session:
            runs = abandoned_runs(session)
        if runs:
            what = f"Nobody reads {plural(len(runs), 'unfinished run')} any more: {some(runs)}."
            yield Finding(what, partial(self._in_transaction, discard_abandoned))

    def _unused(self) -> Iterator[Finding]:
        with self._read() as session:
            digests = unused(session, session.scalars(select(Blob.digest)))  # parts are left out
            size = shares(session).unused
        if digests:
            what = f"Nothing uses {plural(len(digests), 'content')} of {size_in_bytes(size)}."
            yield Finding(what, partial(self._free, digests))

    def _free(self, digests: Sequence[str]) -> None:
        with self._write.begin() as session:
            hold_blobs(session)
            unindex(session, digests)
            free_blobs(session, digests)
        give_back(self._engine)

    def _search(self) -> Iterator[Finding]:
        indexed = exists().where(TextFrame.digest == Artifact.digest)
        texts = select(Artifact.digest).join(Run, Run.id == Artifact.run_id).distinct()
        searchable = (Artifact.role.in_(SEARCHED), Artifact.line_count > 0, Run.state == COMPLETE)
        stored = exists().where(Blob.digest == Artifact.digest)
        with self._read() as session:
            digests = list(session.scalars(texts.where(*searchable, stored, ~indexed)))
        if digests:
            what = f"Search does not cover {plural(len(digests), 'text')}."
            yield Finding(what, partial(self._index, digests))

    def _index(self, digests: Sequence[str]) -> None:
        for start in range(0, len(digests), INDEXED_AT_ONCE):
            with self._write.begin() as session:
                index_texts(session, digests[start : start + INDEXED_AT_ONCE])

    def _jobs(self) -> Iterator[Finding]:
        for job, why in self._reaper.ended():
            yield Finding(
                f"The job {job} never ends. {why}",
                partial(transitions.give_up, self._write, job, why),
            )
        rows = self._client.list_workflows(
            status=["PENDING", "ENQUEUED"], queue_name=list(QUEUES),
            load_input=False, load_output=False,
        )  # fmt: skip
        active = set(transitions.active_jobs(self._read))
        over = [row.workflow_id for row in rows if row.workflow_id not in active]
        if over:
            what = f"The job engine keeps {plural(len(over), 'job')} that are over: {some(over)}."
            yield Finding(what, partial(self._client.cancel_workflows, over))
        with self._read() as session:
            needs = [spec.get("needs", ANY) for spec in session.scalars(_WAITING)]
            machines = living_machines(session)
        for need, count in Counter(needs).items():
            nobody = why_nobody(need, machines)
            if nobody is not None:
                yield Finding(f"{plural(count, 'job')} cannot start. {nobody}")

    def _leftovers(self) -> Iterator[Finding]:
        names = list(leftovers(self._settings, self._read))
        if names:
            what = f"Nobody needs {plural(len(names), 'folder')}: {some(names)}."
            yield Finding(what, partial(sweep, self._settings, self._write))

    def _in_transaction(self, change: Callable[[Session], object]) -> None:
        with self._write.begin() as session:
            change(session)
