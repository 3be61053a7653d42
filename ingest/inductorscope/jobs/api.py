"""The interface of jobs for the web process and the command line. Everything blocks; async callers
use a thread.

Nothing outside this package knows the job engine behind it.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from operator import attrgetter
from typing import Any

import msgspec
from cachetools import LRUCache, cachedmethod
from dbos import DBOSClient, EnqueueOptions
from msgspec.structs import replace
from sqlalchemy import Engine, delete, func, select
from sqlalchemy.orm import Session

from inductorscope.answers.explorer.benchmark import is_captured_here
from inductorscope.answers.missing import no_run
from inductorscope.answers.parts import run_of
from inductorscope.capturing.diagnosis.run import KINDS
from inductorscope.capturing.spec import CaptureSpec, SpecError, from_builtins
from inductorscope.disk import Disk
from inductorscope.formats.change import Change
from inductorscope.formats.sizes import MIB
from inductorscope.intake.limits import Limits
from inductorscope.jobs.errors import (
    CaptureRefusedError,
    IncompleteError,
    NotFoundError,
    NotOursError,
    UploadOverError,
)
from inductorscope.jobs.queue import transitions
from inductorscope.jobs.queue.bell import ring
from inductorscope.jobs.queue.engine import (
    APPLICATION_VERSION,
    QUEUE,
    SHORT_QUEUE,
    WORKFLOW,
    make_client,
    prepare,
)
from inductorscope.jobs.queue.health import is_alive
from inductorscope.jobs.queue.machines import (
    ANY,
    GPU,
    TORCH,
    living_machines,
    machine_of,
    why_nobody,
)
from inductorscope.jobs.queue.reaper import Reaper
from inductorscope.jobs.records import (
    ACTIVE,
    QUEUED,
    JobLine,
    JobStatus,
    KeptUpload,
    UploadFileState,
    UploadState,
    WorkerStatus,
)
from inductorscope.jobs.rules import RUN_CODE, check_jobs, check_rules
from inductorscope.jobs.sender import SENDER
from inductorscope.jobs.uploads import again, open_uploads
from inductorscope.jobs.uploads.again import Again, NotAgainError
from inductorscope.jobs.uploads.announced import Announced, checked
from inductorscope.jobs.uploads.files import Receiving
from inductorscope.jobs.uploads.kept import kept_uploads, make_way
from inductorscope.jobs.work import diagnosis
from inductorscope.jobs.work.benchmark import UPLOADED
from inductorscope.processes.tracing import traces_receiver
from inductorscope.settings import Settings
from inductorscope.store.database.engine import Sessions, make_engine, sessions
from inductorscope.store.database.room import with_reserve
from inductorscope.store.projects import project_for
from inductorscope.store.runs.rules import sender_of
from inductorscope.store.runs.runs import delete_run
from inductorscope.store.runs.writer import JOB
from inductorscope.store.tables.models import (
    COMPLETE,
    READING,
    Job,
    JobEvent,
    Run,
    Upload,
    Worker,
)
from inductorscope.store.trash import WITH_TRASH, Trash, in_trash, move_to_trash, restore_run
from inductorscope.store.who import OWNER, VIEWER

KEPT_UPLOADS = 32
"""Number of uploads whose announced files are kept in memory; the files never change."""
SMALL_BYTES = 64 * MIB
"""An upload up to this size goes to the queue of short jobs."""
NAMED_MISSING = 3
LONGEST_NAME = 200


@dataclass(frozen=True)
class BenchmarkAsked:
    """A request for a benchmark: which kernel and how, or what to do instead."""

    run: str
    graph: str
    kernel: str
    handle: int
    seconds: float = 2.0
    max_autotune: bool = False
    without: int | None = None
    """Leaves out the operation on this line of the output code; nothing is timed then."""
    profile: bool = False
    """Whether to profile one launch with Nsight Compute, and time nothing."""


class JobsClient:
    """Uploads, captures and jobs of one installation. Safe to share among threads."""

    def __init__(
        self, settings: Settings, engine: Engine | None = None, *, for_viewers: bool = False
    ) -> None:
        """Brings the tables up to date first. Makes and owns an engine if none is given.

        `for_viewers`: sees nothing without a viewer, as in the web process.
        """
        prepare(settings)
        self.settings = settings
        self._own_engine = make_engine(settings) if engine is None else None
        used = engine or self._own_engine
        assert used is not None
        self._engine = used
        self._write: Sessions = sessions(used)
        self._read: Sessions = sessions(used, read_only=True, for_viewers=for_viewers)
        self._client: DBOSClient = make_client(settings)
        self._uploads = open_uploads(settings)
        self._announced: LRUCache[str, list[Announced]] = LRUCache(KEPT_UPLOADS)
        self._guard = threading.Lock()

    def close(self) -> None:
        self._client.destroy()
        if self._own_engine is not None:
            self._own_engine.dispose()

    # --- uploads ---

    def create_upload(
        self,
        name: str | None,
        tags: Sequence[str],
        files: Sequence[Announced],
        project: str | None = None,
    ) -> UploadState:
        """Announces files as pairs of path and size; `project`: where the run goes.

        Raises AccountError, UploadRefusedError, TooManyUploadsError, TooManyRunsError,
        TooManyJobsError, or StorageError when the disk is full.
        """
        plain = checked(files, Limits.of(self.settings))
        size = sum(size for _, size in plain)
        upload_id = secrets.token_hex(8)
        name = (name or "").strip()[:LONGEST_NAME] or _name_of(plain)
        with self._write.begin() as session:
            who = VIEWER.get() or OWNER
            place = project_for(session, who, project)
            sent_by = sender_of(session, place, who.person)
            check_rules(session, name, tags, sent_by)
            check_jobs(session, "ingest", sent_by, transitions.now())
            leaving = make_way(session, self.settings, self._uploads, SENDER.get(), size)
            session.add(
                Upload(
                    id=upload_id,
                    name=name,
                    tags=list(tags),
                    files=[{"path": path, "size": size} for path, size in plain],
                    created_at=transitions.now(),
                    sender=SENDER.get(),
                    size=size,
                    person_id=who.person,
                    project_id=place,
                )
            )
        for each in leaving:
            self._uploads.remove(each)
        self._uploads.create(upload_id)
        return self.upload(upload_id)

    def kept_uploads(self) -> list[KeptUpload]:
        """Returns uploads that take room although no job reads them or waits to; newest first."""
        with self._read() as session:
            return kept_uploads(session, self._uploads)

    def drop_upload(self, upload_id: str) -> None:
        """Removes an upload and its files. Raises NotFoundError, or UploadOverError if a job reads
        it or waits to."""
        with self._read() as session:
            upload = _upload(session, upload_id)
            job = session.get(Job, upload.job_id) if upload.job_id is not None else None
        if job is not None and job.state in ACTIVE:
            raise UploadOverError(
                f"The job {job.id} reads this upload.", "Cancel the job, which drops the upload."
            )
        self._uploads.remove(upload_id)  # before the row goes: this makes room for writing that

        def forget() -> None:
            with self._write.begin() as session:
                session.execute(delete(Upload).where(Upload.id == upload_id))

        with_reserve(self._engine, forget)
        with self._guard:
            self._announced.pop(upload_id, None)

    def upload(self, upload_id: str) -> UploadState:
        """Returns an upload and how much of it has arrived. Raises NotFoundError."""
        with self._read() as session:
            upload = _upload(session, upload_id)
        files = _files_of(upload)
        if upload.finished_at is not None:
            received = [size for _, size in files]
        else:
            received = self._uploads.received(upload_id, len(files))
        return UploadState(
            id=upload.id,
            name=upload.name,
            tags=list(upload.tags),
            files=[
                UploadFileState(index, path, size, received[index])
                for index, (path, size) in enumerate(files)
            ],
            finished=upload.finished_at is not None,
            job=upload.job_id,
        )

    def open_file(self, upload_id: str, index: int, offset: int) -> Receiving:
        """Opens a file of an upload for appending at `offset`; use it as a context manager.

        Raises NotFoundError, UploadOverError, FileBusyError while another request writes the file,
        or OffsetError with the true offset. Its `write` raises UploadRefusedError if more arrives
        than was announced, and StorageError if the disk is full. Flushed bytes stay, whatever
        happens.
        """
        files = self._announced_files(upload_id)
        if not 0 <= index < len(files):
            raise NotFoundError(f"The upload has {len(files)} files; there is no number {index}.")
        with self._read() as session:
            finished = session.scalar(select(Upload.finished_at).where(Upload.id == upload_id))
        if finished is not None:
            raise UploadOverError("The upload is finished; its files do not change any more.")
        return self._uploads.open(upload_id, index, offset, files[index][1])

    def append(self, upload_id: str, index: int, offset: int, data: bytes) -> int:
        """Appends bytes and returns the new offset; see `open_file`."""
        with self.open_file(upload_id, index, offset) as file:
            file.write(data)
            file.flush()
            return file.offset

    def finish_upload(self, upload_id: str) -> str:
        """Hands a complete upload to the workers; returns the job's id. May be repeated.

        Raises NotFoundError, or IncompleteError with the names of incomplete files.
        """
        with self._read() as session:
            upload = _upload(session, upload_id)
        if upload.job_id is None:
            self._check_complete(upload)
        with self._write.begin() as session:
            # Locked, so that of two requests that finish it at once the second sees what the first
            # did.
            locked = session.get_one(Upload, upload_id, with_for_update=True)
            if locked.job_id is None:
                locked.finished_at = transitions.now()
                locked.job_id = f"ingest-{upload_id}"
                files = _files_of(upload)
                facts = {"files": len(files), "bytes": sum(size for _, size in files)}
                spec = {"upload": upload_id, "name": upload.name, "tags": upload.tags, **facts}
                self._enqueue(
                    session, locked.job_id, "ingest", upload.name, spec, upload.project_id
                )
            job_id = locked.job_id
        ring(self.settings)
        return job_id

    def _check_complete(self, upload: Upload) -> None:
        files = _files_of(upload)
        received = self._uploads.received(upload.id, len(files))
        missing = [
            f"{path} ({have:,} of {size:,} bytes)"
            for (path, size), have in zip(files, received, strict=True)
            if have != size
        ]
        if missing:
            named = ", ".join(missing[:NAMED_MISSING])
            more = len(missing) - NAMED_MISSING
            rest = f" and {more:,} more" if more > 0 else ""
            raise IncompleteError(f"Not everything has arrived yet: {named}{rest}.", missing)

    @cachedmethod(
        attrgetter("_announced"), key=lambda _, upload_id: upload_id, lock=attrgetter("_guard")
    )
    def _announced_files(self, upload_id: str) -> list[Announced]:
        with self._read() as session:
            return _files_of(_upload(session, upload_id))

    # --- captures ---

    def enqueue_capture(
        self, spec: dict[str, Any], tags: Sequence[str] = (), needs: str | None = None
    ) -> str:
        """Asks a worker to capture; returns the job's id. `needs`: a GPU's name, or a kind of
        worker.

        Raises CaptureRefusedError, TooManyRunsError or TooManyJobsError.
        """
        capture = _checked_capture(spec)
        here = capture.device == "cpu" or capture.pretend
        needs = needs or (TORCH if here else GPU)
        job_id = f"capture-{secrets.token_hex(8)}"
        with self._write.begin() as session:
            who = VIEWER.get() or OWNER
            check_rules(session, capture.title, tags, sender_of(session, who.project, who.person))
            kept = {"capture": capture.to_builtins(), "name": capture.title, "tags": list(tags)}
            self._enqueue(session, job_id, "capture", capture.title, kept | {"needs": needs})
        ring(self.settings)
        return job_id

    # --- benchmarks ---

    def enqueue_benchmark(self, asked: BenchmarkAsked) -> str:
        """Asks a worker to benchmark a kernel; returns the job's id.

        Raises NotHere, or NotOursError for a run that this installation did not capture.
        """
        (run,) = self._captured_here([asked.run], UPLOADED)
        what = "Profile of" if asked.profile else "Benchmark of"
        what = what if asked.without is None else f"Without line {asked.without} of"
        return self._enqueue_again("benchmark", f"{what} {asked.kernel}", [run], asdict(asked))

    # --- measurements ---

    def enqueue_measurement(self, run_id: str, other: str, *, settings: bool = False) -> str:
        """Asks a worker to measure two captured runs; returns the job's id. `settings`: also each
        setting that differs, alone.

        Raises NotHere, or NotOursError for a run that this installation did not capture.
        """
        runs = self._captured_here([run_id, other], diagnosis.UPLOADED)
        title = f"Measuring {' and '.join(run.name for run in runs)}"
        spec = {"run": run_id, "other": other, "settings": settings}
        return self._enqueue_again("measure", title, runs, spec)

    # --- diagnoses ---

    def enqueue_diagnosis(self, kind: str, run_id: str, options: dict[str, Any]) -> str:
        """Asks a worker to diagnose a captured run; returns the job's id.

        `kind` is one of `capturing.diagnosis.run.KINDS`; `options` may name a job to `resume`.
        Raises NotOursError for a run that this installation did not capture, NotHere.
        """
        (run,) = self._captured_here([run_id], diagnosis.UPLOADED)
        spec = {"run": run_id, "options": options}
        return self._enqueue_again(kind, f"{KINDS[kind]}: {run.name}", [run], spec)

    # --- trials ---

    def enqueue_trial(self, run_id: str, title: str, change: Change) -> str:
        """Asks a worker to try a change of a captured run; returns the job's id.

        Raises NotOursError for a run that this installation did not capture, NotHere.
        """
        (run,) = self._captured_here([run_id], diagnosis.UPLOADED)
        spec = {"run": run_id, "title": title, "change": msgspec.to_builtins(change)}
        return self._enqueue_again("trial", f"Trying {title} on {run.name}", [run], spec)

    def enqueue_search(self, run_id: str, minutes: float) -> str:
        """Asks a worker to search for changes that make a captured run faster; returns the job's
        id. Raises as `enqueue_trial`."""
        (run,) = self._captured_here([run_id], diagnosis.UPLOADED)
        spec = {"run": run_id, "minutes": minutes}
        return self._enqueue_again("improve", f"Improving {run.name}", [run], spec)

    def _enqueue_again(
        self, kind: str, title: str, runs: Sequence[Run], spec: dict[str, Any]
    ) -> str:
        """Asks a worker to run captured programs again; returns the job's id."""
        job_id = f"{kind}-{secrets.token_hex(8)}"
        with self._write.begin() as session:
            spec = spec | {"needs": _needs(session, *runs)}
            self._enqueue(session, job_id, kind, title[:LONGEST_NAME], spec)
        ring(self.settings)
        return job_id

    def _captured_here(self, ids: Sequence[str], refusal: tuple[str, str]) -> list[Run]:
        """Returns the runs. Raises NotOursError for uploads, whose code is never run."""
        with self._read() as session:
            runs = [run_of(session, each) for each in ids]
        if not all(map(is_captured_here, runs)):
            raise NotOursError(*(f"{part[0].upper()}{part[1:]}." for part in refusal))
        return runs

    def _enqueue(
        self,
        session: Session,
        job_id: str,
        kind: str,
        title: str,
        spec: dict[str, Any],
        project: int | None = None,
    ) -> None:
        """Inserts our row and the engine's row, both or neither. Call `ring` after the commit.

        A sender's second job comes after the first jobs of other senders, and so on, so that one
        sender with many jobs does not hold up others. A sender's uploads overtake their larger
        ones.

        Raises TooManyJobsError for a job that runs code; an upload was checked when it began.
        """
        small = kind == "ingest" and spec.get("bytes", 0) <= SMALL_BYTES
        queue = SHORT_QUEUE if small else QUEUE
        sender, who = SENDER.get(), VIEWER.get() or OWNER
        if kind in RUN_CODE:
            check_jobs(
                session, kind, sender_of(session, who.project, who.person), transitions.now()
            )
        mine = select(func.count()).where(Job.sender == sender, Job.state.in_(ACTIVE))
        if "bytes" in spec:
            mine = mine.where(Job.spec["bytes"].as_float() <= spec["bytes"])
        ahead = session.scalar(mine) or 0
        session.add(
            Job(
                id=job_id,
                kind=kind,
                title=title,
                spec=spec,
                state=QUEUED,
                step=transitions.WAITING,
                done=0,
                created_at=transitions.now(),
                sender=sender,
                queue=queue,
                person_id=who.person,
                project_id=project or who.project,
            )
        )
        session.flush()
        options: EnqueueOptions = {
            "workflow_name": WORKFLOW,
            "queue_name": queue,
            "workflow_id": job_id,
            "app_version": APPLICATION_VERSION,
            "queue_partition_key": spec.get("needs", ANY),
        }
        if ahead:
            options["priority"] = ahead
        if traces_receiver() is not None:
            from opentelemetry import context

            options["otel_context"] = context.get_current()
        self._client.enqueue_in_transaction(session, options, job_id)

    # --- runs ---

    def trash_run(self, run_id: str) -> bool:
        """Moves a run to the trash. Deletes it for good, and returns False, while it is being read
        or when the disk is full. Raises NotHere."""
        with self._read() as session:
            state = run_of(session, run_id).state
        if state != COMPLETE or Disk.of(self.settings.data).lacks():
            self.delete_run(run_id)
            return False
        with self._write.begin() as session:
            move_to_trash(session, [run_id], transitions.now())
        return True

    def restore_run(self, run_id: str) -> None:
        """Takes a run out of the trash. Raises NotFoundError."""
        with self._write.begin() as session:
            if not restore_run(session, run_id):
                raise NotFoundError(f"There is no run {run_id} in the trash.")

    def trash(self) -> Trash:
        with self._read() as session:
            return in_trash(session)

    def empty_trash(self) -> int:
        """Deletes all runs in the trash for good; returns the bytes freed."""
        trashed = select(Run.id).where(Run.trashed_at.is_not(None))
        with self._read() as session:
            runs = list(session.scalars(trashed, execution_options=WITH_TRASH))
        return sum(self.delete_run(run) for run in runs)

    def delete_run(self, run_id: str) -> int:
        """Deletes a run for good, also from the trash, and the contents that only it uses; returns
        the bytes freed. Works when the disk is full. Cancels a job that still reads the run. Raises
        NotHere."""
        with self._read() as session:
            run = session.get(Run, run_id, execution_options=WITH_TRASH)
            if run is None:
                raise no_run(run_id)
            reader = (run.reader or "") if run.state == READING else ""
        if reader.startswith(JOB):
            why = "Cancelled: its run was deleted while it was being read."
            self._cancel(reader.removeprefix(JOB), why)

        def forget() -> int:
            with self._write.begin() as session:
                return delete_run(session, run_id)

        return with_reserve(self._engine, forget)

    # --- jobs ---

    def cancel(self, job_id: str) -> bool:
        """Cancels a job; returns False if it was over already. Raises NotFoundError."""
        self.job(job_id)
        return self._cancel(job_id, "Cancelled.")

    def _cancel(self, job_id: str, why: str) -> bool:
        cancelled = with_reserve(self._engine, lambda: transitions.cancel(self._write, job_id, why))
        if cancelled:
            # The row says so already; telling the engine makes the worker stop.
            self._client.cancel_workflow(job_id)
        return cancelled

    def again(self, jobs: Sequence[JobStatus]) -> dict[str, Again]:
        """Says for each failed or cancelled job whether it can be tried again, or was."""
        with self._read() as session:
            return again.retry_options(session, self._uploads, jobs)

    def try_again(self, job_id: str) -> str:
        """Repeats a job that failed or was cancelled; returns the new job's id.

        A second call returns the same new job. Raises NotFoundError, CaptureRefusedError if the
        program may not be run any more, or NotAgainError.
        """
        old = self.job(job_id)
        if old.state not in again.ENDED_BADLY:
            raise NotAgainError(
                f"The job is {old.state}: only failed and cancelled jobs are tried again."
            )
        new = again.next_id(old)
        if old.kind == "capture":
            _checked_capture(old.spec["capture"])
        elif "run" in old.spec:
            self._captured_here([str(old.spec["run"])], diagnosis.UPLOADED)
        with self._write.begin() as session:
            # So that two requests make one job.
            locked = session.get_one(Job, job_id, with_for_update=True)
            if session.get(Job, new) is None:
                if "upload" in old.spec:
                    again.take_over_upload(session, self._uploads, old, new)
                self._enqueue(session, new, old.kind, old.title, old.spec, locked.project_id)
        ring(self.settings)
        return new

    def job(self, job_id: str) -> JobStatus:
        """Returns a job. Raises NotFoundError."""
        with self._read() as session:
            job = session.get(Job, job_id)
            if job is None:
                raise NotFoundError(f"There is no job {job_id}.")
            return _waiting(session, [JobStatus.of(job)])[0]

    def jobs(
        self, *, active: bool = False, limit: int = 50, before: str | None = None
    ) -> list[JobStatus]:
        """Returns jobs, newest first; `before` is the id of the last one on the page before."""
        wanted = select(Job).order_by(Job.created_at.desc(), Job.id.desc()).limit(limit)
        if active:
            wanted = wanted.where(Job.state.in_(ACTIVE))
        with self._read() as session:
            last = session.get(Job, before) if before else None
            if last is not None:
                wanted = wanted.where(
                    (Job.created_at < last.created_at)
                    | ((Job.created_at == last.created_at) & (Job.id < last.id))
                )
            return _waiting(session, [JobStatus.of(job) for job in session.scalars(wanted)])

    def events(self, job_id: str, *, after: int = 0, limit: int = 1000) -> list[JobLine]:
        """Returns lines of a job's log that are newer than the line `after`, oldest first."""
        wanted = (
            select(JobEvent)
            .where(JobEvent.job_id == job_id, JobEvent.id > after)
            .order_by(JobEvent.id)
            .limit(limit)
        )
        with self._read() as session:
            return [JobLine.of(event) for event in session.scalars(wanted)]

    def workers(self) -> list[WorkerStatus]:
        """Returns worker processes, living ones and those that died lately."""
        with self._read() as session:
            rows = session.scalars(select(Worker).order_by(Worker.id))
            return [WorkerStatus.of(row, is_alive(row), machine_of(row).kind) for row in rows]

    def reap(self) -> list[str]:
        """Gives the jobs of dead workers of this machine back to the queue; returns their ids.

        Workers do this themselves all the time; a person needs it when none is running.
        """
        return Reaper(self.settings, self._write, self._client).reap()


def _needs(session: Session, *runs: Run) -> str:
    """Returns what captured programs need to run again: a GPU of the same name, if one is there."""
    devices = {(run.environment.get("options") or {}).get("device", "cpu") for run in runs}
    if devices == {"cpu"}:
        return TORCH
    names = {str(run.environment.get("gpu_name")) for run in runs}
    there = names & {machine.device for machine in living_machines(session)}
    return there.pop() if len(names) == len(there) == 1 else GPU


def _waiting(session: Session, jobs: list[JobStatus]) -> list[JobStatus]:
    """Adds the reason to jobs that wait because no worker can take them."""
    if all(job.state != QUEUED for job in jobs):
        return jobs
    machines = living_machines(session)

    def step(job: JobStatus) -> str:
        why = why_nobody(job.spec.get("needs", ANY), machines)
        return why if why is not None and job.state == QUEUED else job.step

    return [replace(job, step=step(job)) for job in jobs]


def _checked_capture(spec: dict[str, Any]) -> CaptureSpec:
    try:
        return from_builtins(spec)
    except SpecError as error:
        raise CaptureRefusedError(str(error)) from None


def _upload(session: Session, upload_id: str) -> Upload:
    upload = session.get(Upload, upload_id)
    if upload is None:
        raise NotFoundError(f"There is no upload {upload_id}.")
    return upload


def _files_of(upload: Upload) -> list[Announced]:
    return [(str(file["path"]), int(file["size"])) for file in upload.files]


def _name_of(files: list[Announced]) -> str:
    """Returns the name of the folder that all files are in, or else the first file's name."""
    first = files[0][0]
    top = first.partition("/")[0]
    together = all(path.startswith(f"{top}/") for path, _ in files)
    return (top if together else first.rpartition("/")[2])[:LONGEST_NAME]
