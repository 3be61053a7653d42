"""A job as the engine runs it: one step around a child process, which a cancel interrupts.

All parsing and compiling happens in the child, so that no failure there ends the worker, and a job
is stopped by killing its child.
"""

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

from dbos import DBOS
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from inductorscope.disk import Disk, is_full
from inductorscope.formats.sizes import MIB
from inductorscope.jobs.errors import without_password
from inductorscope.jobs.kinds import KINDS
from inductorscope.jobs.queue import transitions
from inductorscope.jobs.queue.engine import QUEUE, SHORT_QUEUE, WORKFLOW, log
from inductorscope.jobs.queue.processes import end_processes, environment
from inductorscope.jobs.queue.transitions import NO_ROOM, TRY_AGAIN, Attempt
from inductorscope.jobs.uploads import open_uploads
from inductorscope.jobs.work import folders
from inductorscope.processes.dying import how_it_ended
from inductorscope.processes.logs import JOB
from inductorscope.processes.programs import MARK, SCRATCH, program
from inductorscope.settings import PREFIX, Settings
from inductorscope.store.contents.objects import OutOfReachError
from inductorscope.store.database.engine import Sessions, folder_of
from inductorscope.store.database.room import give_back, with_reserve

TRY_AGAIN_SECONDS = 5.0
LONGEST_PAUSE = 6
"""The pause grows by TRY_AGAIN_SECONDS with each attempt, up to this many times."""
TURN_SECONDS = 20.0
"""A small upload that takes longer gives way to others that wait, and starts again among the long
jobs. So an archive that unpacks to a gigabyte holds others up for no longer than this."""
LOOK_SECONDS = 2.0
"""Between checks whether other uploads wait."""
GAVE_WAY, KILLED = "gave way", "killed"
"""How an attempt can end, other than with the child's exit status."""
SHOWN_OUTPUT = 8_192
ENGINE_ATTEMPTS = 100
"""The engine's own limit; ours in `transitions` is lower and ends the job with a sentence."""

Command = Callable[[Attempt], list[str]]
Result = TypeVar("Result")


@dataclass
class Work:
    """The state of a worker process: what it works with and what it works on."""

    settings: Settings
    sessions: Sessions
    executor_id: str
    command: Command
    requeue: Callable[[str], None]
    """Puts a job into the engine's queue of long jobs."""
    running: dict[str, Attempt] = field(default_factory=dict)
    stopping: bool = False
    ended: threading.Event = field(default_factory=threading.Event)
    """Set whenever an attempt ends: there may be something to do after it."""


_work: list[Work] = []
"""This process's work. The engine calls our functions by name, so it cannot be passed to them."""


def set_work(work: Work) -> None:
    _work[:] = [work]


def child_command(attempt: Attempt) -> list[str]:
    """Returns the command that starts a job's process."""
    module = program("inductorscope.jobs.work", attempt.kind, attempt.job_id)
    return [*module, "--attempt", str(attempt.number), "--parent", str(os.getpid())]


@DBOS.workflow(name=WORKFLOW, max_recovery_attempts=ENGINE_ATTEMPTS)
async def run_job(job_id: str) -> str:
    return await run_attempts(job_id)


@DBOS.step(name="attend", preemptible=True)
async def run_attempts(job_id: str) -> str:
    """Tries until an attempt ends the job. The engine repeats this step as a whole if a worker
    dies."""
    JOB.set(job_id)
    while True:
        try:
            return await _attempts(_work[0], job_id)
        except (OperationalError, InterfaceError, OutOfReachError) as error:
            log.warning("the job waits: %s", without_password(str(error)))
        await asyncio.sleep(TRY_AGAIN_SECONDS)


async def _attempts(work: Work, job_id: str) -> str:
    killed = False
    while True:
        # Fails while the store is away, so that an outage costs one attempt at most.
        await asyncio.to_thread(open_uploads(work.settings).exists, "any")
        attempt = await _with_room(transitions.claim, work.sessions, job_id, work.executor_id)
        if attempt is None:
            # A worker may have died between the end of the job and the clean-up.
            await asyncio.to_thread(_tidy, work, job_id)
            return "over"
        end = await _attempt(work, attempt, last=killed)
        if work.stopping:
            # The process is about to end; the engine must not note an outcome.
            await asyncio.Future()
        if end == GAVE_WAY:
            await asyncio.to_thread(work.requeue, job_id)
        elif end == NO_ROOM:
            await _end_without_room(work, attempt)
        if end not in (TRY_AGAIN, KILLED):
            return "attended"
        killed = killed or end == KILLED
        await asyncio.sleep(TRY_AGAIN_SECONDS * min(attempt.number, LONGEST_PAUSE))


async def _with_room(change: Callable[..., Result], *arguments: object) -> Result:
    """Calls a function that writes a little, in a thread; repeats it while the disk is full."""
    while True:
        try:
            return await asyncio.to_thread(change, *arguments)
        except DBAPIError as error:
            if not is_full(error):
                raise
        await asyncio.sleep(TRY_AGAIN_SECONDS)


async def _end_without_room(work: Work, attempt: Attempt) -> None:
    """Ends a job that found the disk full; its files are gone by now, and its upload is removed
    too."""
    await asyncio.to_thread(folders.remove_upload, work.settings, work.sessions, attempt.job_id)
    engine = work.sessions.kw["bind"]
    disk = Disk.of(work.settings.data)
    which = f"{disk.folder} ({disk.total / MIB:,.0f} MiB)"
    if folder_of(engine) is None:
        which += " or of the database"
    message = (
        f"This filled the disk of {which}, so its files were removed. Make room there by deleting "
        "runs or dropping uploads, then send them again."
    )
    # Deletes the stored part of the run.
    fail = partial(transitions.fail, work.sessions, attempt, message)
    await _with_room(with_reserve, engine, fail)
    await asyncio.to_thread(give_back, engine, any_number=True)
    log.warning("%s: %s", attempt.job_id, message)


async def _attempt(work: Work, attempt: Attempt, *, last: bool) -> int | str | None:
    """Runs the child until it ends or the job does. Returns its exit status, GAVE_WAY or KILLED;
    `last`: if the child is killed, the job ends."""
    await asyncio.to_thread(_tidy, work, attempt.job_id)
    work.running[attempt.job_id] = attempt
    try:
        return await _run_child(work, attempt, last=last)
    except OSError as error:
        if is_full(error):
            return NO_ROOM
        message = f"The process that does this could not be started: {error}."
        await asyncio.to_thread(transitions.fail, work.sessions, attempt, message)
        return None
    finally:
        # Also after a cancel, which interrupts only once: this waits for the clean-up.
        await asyncio.to_thread(_tidy, work, attempt.job_id)
        if not work.stopping:
            work.running.pop(attempt.job_id, None)
        work.ended.set()


async def _run_child(work: Work, attempt: Attempt, *, last: bool) -> int | str | None:
    scratch = folders.make_scratch_folder(attempt.job_id)
    output = scratch / "output"
    with output.open("wb") as stream:
        process = await asyncio.create_subprocess_exec(
            *work.command(attempt),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            env=environment(work.settings, **{MARK: attempt.job_id, SCRATCH: str(scratch)}),
            start_new_session=True,
        )
    kind = KINDS[attempt.kind]
    seconds = kind.seconds(work.settings, attempt.size)
    try:
        status = await _ended(work, attempt, process, seconds)
    except TimeoutError:
        message = (
            f"This took longer than its time limit of {seconds:,} s and was stopped. "
            f"Raise {PREFIX}{kind.limit}, or do less at a time."
        )
        await asyncio.to_thread(transitions.fail, work.sessions, attempt, message)
        return None
    if status is None:
        return GAVE_WAY
    if status not in (0, TRY_AGAIN, NO_ROOM) and not work.stopping:
        message = f"The process that did this {how_it_ended(status)}"
        message += "." if status < 0 else " and no message."
        if status == -signal.SIGKILL:
            message += " Perhaps the machine ran out of memory."
        if status < 0 and attempt.kind == "ingest":
            if not last:
                await asyncio.to_thread(
                    transitions.note, work.sessions, attempt, f"{message} Trying once more."
                )
                return KILLED
            message = f"{message} This was the second time."
        said = f"{message}\n{_last_output(output)}".rstrip()
        if await asyncio.to_thread(transitions.fail, work.sessions, attempt, message, said):
            log.warning("%s: %s", attempt.job_id, said)
    return status


async def _ended(
    work: Work, attempt: Attempt, process: asyncio.subprocess.Process, seconds: float
) -> int | None:
    """Waits for the child. Returns its exit status, or None when the job gives way to others.

    Raises TimeoutError when `seconds` have passed.
    """
    until = time.monotonic() + seconds
    turn = TURN_SECONDS if attempt.queue == SHORT_QUEUE else seconds
    while True:
        left = until - time.monotonic()
        try:
            return await asyncio.wait_for(process.wait(), min(turn, left))
        except TimeoutError:
            if turn >= left:
                raise
        if await asyncio.to_thread(_gives_way, work, attempt):
            return None
        turn = LOOK_SECONDS


def _gives_way(work: Work, attempt: Attempt) -> bool:
    why = (
        f"This takes longer than {TURN_SECONDS:.0f} s and others wait, so it starts again among "
        "the long jobs."
    )
    return transitions.others_wait(work.sessions, SHORT_QUEUE) and transitions.put_back(
        work.sessions, attempt, why, queue=QUEUE
    )


def _tidy(work: Work, job_id: str) -> None:
    if not end_processes(job_id):
        log.warning("%s: a process of this job cannot be killed", job_id)
    folders.clear(work.settings, job_id)


def _last_output(path: Path) -> str:
    with path.open("rb") as stream:
        stream.seek(max(0, path.stat().st_size - SHOWN_OUTPUT))
        return stream.read().decode(errors="replace").strip()
