"""The interface of jobs for the web process and the command line. Everything blocks; async callers
use a thread.

Nothing outside this package knows the job engine behind it.
"""

from collections.abc import Sequence

from dbos import DBOSClient
from msgspec.structs import replace
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from inductorscope.answers.missing import no_run
from inductorscope.answers.parts import run_of
from inductorscope.disk import Disk
from inductorscope.fields import view
from inductorscope.jobs.errors import NotFoundError
from inductorscope.jobs.programs import ProgramsClient, checked_capture
from inductorscope.jobs.queue import transitions
from inductorscope.jobs.queue.engine import make_client, prepare
from inductorscope.jobs.queue.entrance import Entrance
from inductorscope.jobs.queue.health import is_alive
from inductorscope.jobs.queue.machines import ANY, living_machines, machine_of, why_nobody
from inductorscope.jobs.records import ACTIVE, QUEUED, JobLine, JobStatus, WorkerStatus
from inductorscope.jobs.uploads import again
from inductorscope.jobs.uploads.again import Again, NotAgainError
from inductorscope.jobs.uploads.client import UploadsClient
from inductorscope.jobs.work import diagnosis
from inductorscope.settings import Settings
from inductorscope.store.database.engine import Sessions, make_engine, sessions
from inductorscope.store.database.room import with_reserve
from inductorscope.store.runs.runs import delete_run
from inductorscope.store.runs.writer import JOB
from inductorscope.store.tables.models import COMPLETE, READING, Job, JobEvent, Run, Worker
from inductorscope.store.trash import WITH_TRASH, Trash, in_trash, move_to_trash, restore_run


class JobsClient:
    """Jobs of one installation, and runs that jobs may read. Safe to share among threads."""

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
        self._entrance = Entrance(settings, self._client)
        self.uploads = UploadsClient(settings, used, self._read, self._write, self._entrance)
        self.programs = ProgramsClient(self._read, self._write, self._entrance)

    def close(self) -> None:
        self._client.destroy()
        if self._own_engine is not None:
            self._own_engine.dispose()

    def capture_first(self, model: str) -> str | None:
        """Asks for a capture if there is no run and no job yet, so that a new installation has
        something to show; returns the job's id."""
        with self._read() as session:
            rows = (session.scalar(select(table.id).limit(1)) for table in (Run, Job))
            if any(row is not None for row in rows):
                return None
        return self.programs.capture({"model": model})

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
            return again.retry_options(session, self.uploads.files, jobs)

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
            checked_capture(old.spec["capture"])
        elif "run" in old.spec:
            self.programs.captured_here([str(old.spec["run"])], diagnosis.UPLOADED)
        with self._write.begin() as session:
            # So that two requests make one job.
            locked = session.get_one(Job, job_id, with_for_update=True)
            if session.get(Job, new) is None:
                if "upload" in old.spec:
                    again.take_over_upload(session, self.uploads.files, old, new)
                self._entrance.enter(session, new, old.kind, old.title, old.spec, locked.project_id)
        self._entrance.ring()
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
            return [view(JobLine, event) for event in session.scalars(wanted)]

    def workers(self) -> list[WorkerStatus]:
        """Returns worker processes, living ones and those that died lately."""
        with self._read() as session:
            rows = session.scalars(select(Worker).order_by(Worker.id))
            return [
                view(WorkerStatus, row, alive=is_alive(row), kind=machine_of(row).kind)
                for row in rows
            ]


def _waiting(session: Session, jobs: list[JobStatus]) -> list[JobStatus]:
    """Adds the reason to jobs that wait because no worker can take them."""
    if all(job.state != QUEUED for job in jobs):
        return jobs
    machines = living_machines(session)

    def step(job: JobStatus) -> str:
        why = why_nobody(job.spec.get("needs", ANY), machines)
        return why if why is not None and job.state == QUEUED else job.step

    return [replace(job, step=step(job)) for job in jobs]
