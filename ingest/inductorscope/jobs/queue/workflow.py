"""One job as the engine runs it: a step around a child process, which a cancel interrupts.

All parsing and compiling happens in the child, so nothing that goes wrong there takes the worker
with it, and stopping is killing.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from dbos import DBOS

from inductorscope.jobs.kinds import KINDS
from inductorscope.jobs.queue import transitions
from inductorscope.jobs.queue.engine import WORKFLOW, log
from inductorscope.jobs.queue.processes import end_processes, environment
from inductorscope.jobs.queue.transitions import TRY_AGAIN, Attempt
from inductorscope.jobs.work import folders
from inductorscope.processes.programs import MARK, program
from inductorscope.settings import PREFIX, Settings
from inductorscope.store.database.engine import Sessions

TRY_AGAIN_SECONDS = 5.0
SHOWN_OUTPUT = 8_192
ENGINE_ATTEMPTS = 50
"""The engine's own limit, behind ours in `transitions`, which comes with a sentence."""

Command = Callable[[Attempt], list[str]]


@dataclass
class Work:
    """What a worker process works with, and at."""

    settings: Settings
    sessions: Sessions
    executor_id: str
    command: Command
    running: dict[str, Attempt] = field(default_factory=dict)
    stopping: bool = False
    ended: threading.Event = field(default_factory=threading.Event)
    """Set whenever an attempt is over: there may be something to do after it."""


_work: list[Work] = []
"""This process's work. The engine calls our functions by name, so they cannot be handed it."""


def set_work(work: Work) -> None:
    _work[:] = [work]


def child_command(attempt: Attempt) -> list[str]:
    """The process that does a job's work."""
    module = program("inductorscope.jobs.work", attempt.kind, attempt.job_id)
    return [*module, "--attempt", str(attempt.number), "--parent", str(os.getpid())]


@DBOS.workflow(name=WORKFLOW, max_recovery_attempts=ENGINE_ATTEMPTS)
async def run_job(job_id: str) -> str:
    return await attend(job_id)


@DBOS.step(name="attend", preemptible=True)
async def attend(job_id: str) -> str:
    """Attempts until one comes to an end. Repeated whole when a worker dies."""
    work = _work[0]
    while True:
        attempt = await asyncio.to_thread(
            transitions.claim, work.sessions, job_id, work.executor_id
        )
        if attempt is None:
            # Perhaps a worker died between the job's end and its tidying up.
            await asyncio.to_thread(_tidy, work, job_id)
            return "over"
        status = await _attempt(work, attempt)
        if work.stopping:
            await asyncio.Future()  # the process ends; the engine must not note an outcome
        if status != TRY_AGAIN:
            return "attended"
        await asyncio.sleep(TRY_AGAIN_SECONDS)


async def _attempt(work: Work, attempt: Attempt) -> int | None:
    """Runs the child to its end, or to the job's; its exit status."""
    await asyncio.to_thread(_tidy, work, attempt.job_id)
    work.running[attempt.job_id] = attempt
    try:
        return await _run_child(work, attempt)
    except OSError as error:
        message = f"The process that does this could not be started: {error}."
        await asyncio.to_thread(transitions.fail, work.sessions, attempt, message)
        return None
    finally:
        # Also on a cancel, which interrupts once only: the cleaning up is waited for.
        await asyncio.to_thread(_tidy, work, attempt.job_id)
        if not work.stopping:
            work.running.pop(attempt.job_id, None)
        work.ended.set()


async def _run_child(work: Work, attempt: Attempt) -> int | None:
    scratch = folders.scratch_folder(attempt.job_id)
    scratch.mkdir(parents=True, mode=0o700)
    output = scratch / "output"
    with output.open("wb") as stream:
        process = await asyncio.create_subprocess_exec(
            *work.command(attempt),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            env=environment(work.settings, **{MARK: attempt.job_id}),
            start_new_session=True,
        )
    kind = KINDS[attempt.kind]
    seconds = kind.seconds(work.settings)
    try:
        status = await asyncio.wait_for(process.wait(), seconds)
    except TimeoutError:
        message = (
            f"This took longer than its time limit of {seconds:,} s and was stopped. "
            f"Raise {PREFIX}{kind.limit}, or do less at a time."
        )
        await asyncio.to_thread(transitions.fail, work.sessions, attempt, message)
        return None
    if status not in (0, TRY_AGAIN) and not work.stopping:
        message = _how_it_ended(status)
        said = f"{message}\n{_last_output(output)}".rstrip()
        if await asyncio.to_thread(transitions.fail, work.sessions, attempt, message, said):
            log.warning("%s: %s", attempt.job_id, said)
    return status


def _tidy(work: Work, job_id: str) -> None:
    if not end_processes(job_id):
        log.warning("%s: a process of this job cannot be killed", job_id)
    folders.clear(work.settings, job_id)


def _how_it_ended(status: int) -> str:
    if status >= 0:
        return f"The process that did this ended with status {status} and no word."
    name = signal.Signals(-status).name
    memory = " Perhaps the machine ran out of memory." if name == "SIGKILL" else ""
    return f"The process that did this was ended by {name}.{memory}"


def _last_output(path: Path) -> str:
    with path.open("rb") as stream:
        stream.seek(max(0, path.stat().st_size - SHOWN_OUTPUT))
        return stream.read().decode(errors="replace").strip()
