"""Processes that are started ahead, and the jobs they are handed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from inductorscope.cli.client import files_of
from inductorscope.jobs.api import JobsClient
from inductorscope.jobs.queue.processes import end_processes, processes_of
from inductorscope.jobs.queue.spare import Spare
from inductorscope.jobs.queue.transitions import Attempt, claim
from inductorscope.jobs.work.folders import scratch_folder
from inductorscope.settings import Settings
from inductorscope.store.database.engine import sessions
from sqlalchemy import Engine


@pytest.fixture
def spare(settings: Settings) -> Iterator[Spare]:
    made = Spare(settings)
    yield made
    made.close()


@pytest.fixture
def attempt(engine: Engine, client: JobsClient, fixtures: Path) -> Attempt:
    """An upload to be read."""
    files = files_of([next((fixtures / "cuda-foo1" / "torch_trace").iterdir())])
    upload = client.create_upload("sent", [], [(file.name, file.size) for file in files])
    for index, file in enumerate(files):
        client.append(upload.id, index, 0, file.path.read_bytes())
    job = client.finish_upload(upload.id)
    found = claim(sessions(engine), job, "a test")
    assert found is not None
    scratch_folder(job).mkdir(parents=True)
    return found


def children() -> set[int]:
    """Processes that this one started and that live."""
    found = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text()
    return {int(pid) for pid in found.split()}


def test_a_waiting_process_does_the_job_and_is_found_by_it(
    client: JobsClient, spare: Spare, attempt: Attempt
) -> None:
    scratch = scratch_folder(attempt.job_id)
    before = children()
    spare.keep()
    spare.keep()
    started = children() - before
    assert len(started) == 1
    (scratch / "output").touch()
    wait = spare.take(attempt, scratch)
    assert wait is not None
    assert started <= set(processes_of(attempt.job_id))
    assert wait() == 0, (scratch / "output").read_text()
    done = client.job(attempt.job_id)
    assert (done.state, done.message) == ("done", "Read 1 graph with 1 generated kernel.")
    assert spare.take(attempt, scratch) is None


def test_it_can_be_stopped_like_any_process_of_the_job(spare: Spare, attempt: Attempt) -> None:
    scratch = scratch_folder(attempt.job_id)
    spare.keep()
    wait = spare.take(attempt, scratch)
    assert wait is not None
    assert end_processes(attempt.job_id)
    assert wait() == -signal.SIGKILL


def test_one_that_died_is_not_handed_a_job(spare: Spare, attempt: Attempt) -> None:
    before = children()
    spare.keep()
    (pid,) = children() - before
    os.kill(pid, signal.SIGKILL)
    until = time.monotonic() + 60
    while Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z" and time.monotonic() < until:
        time.sleep(0.01)
    assert spare.take(attempt, scratch_folder(attempt.job_id)) is None
    spare.keep()
    assert children() - before - {pid}


def test_it_ends_with_its_worker(settings: Settings) -> None:
    """Also with the processes that it started itself."""
    before = marked(settings.data)
    code = (
        "import sys, time; from inductorscope.jobs.queue.spare import Spare; "
        "from inductorscope.settings import load; "
        "Spare(load()).keep(); time.sleep(60)"
    )
    environment = os.environ | {"INDUCTORSCOPE_DATA": str(settings.data)}
    worker = subprocess.Popen([sys.executable, "-c", code], env=environment)
    wait_for(lambda: len(marked(settings.data) - before) >= 2)
    worker.kill()
    worker.wait()
    wait_for(lambda: marked(settings.data) == before)


def marked(data: Path) -> set[int]:
    """Processes that wait for work on this data folder."""
    wanted = f"INDUCTORSCOPE_DATA={data}".encode()
    found = set()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            values = (entry / "environ").read_bytes().split(b"\0")
        except OSError:  # it ended meanwhile
            continue
        if wanted in values and any(
            value.startswith(b"INDUCTORSCOPE_JOB=spare-") for value in values
        ):
            found.add(int(entry.name))
    return found


def wait_for(true: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not true():
        assert time.monotonic() < until
        time.sleep(0.05)
