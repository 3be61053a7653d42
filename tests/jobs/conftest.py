"""Workers as processes of their own, and waiting for what they do."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import pytest
from inductorscope.jobs.api import JobsClient
from inductorscope.jobs.queue.processes import environment
from inductorscope.jobs.queue.slots import executor_id
from inductorscope.jobs.records import OVER, JobStatus
from inductorscope.settings import Settings
from inductorscope.store.database.engine import Sessions, make_engine, sessions
from inductorscope.store.tables.models import Run
from sqlalchemy import select

from tests.support.sending import append

Found = TypeVar("Found")
WORKER = Path(__file__).parent / "stand_in_worker.py"


@pytest.fixture
def client(settings: Settings) -> Iterator[JobsClient]:
    made = JobsClient(settings)
    yield made
    made.close()


@dataclass
class Crew:
    """Worker processes, and the installation that they work for."""

    settings: Settings
    client: JobsClient
    sessions: Sessions
    living: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(
        self, number: int = 1, dead_after: float = 60.0, turn: float = 20.0, **changes: object
    ) -> subprocess.Popen[bytes]:
        settings = replace(self.settings, **changes)  # type: ignore[arg-type]
        name = executor_id(self.settings, number)
        process = subprocess.Popen(
            [sys.executable, str(WORKER), name, str(dead_after), str(turn)],
            env=environment(settings),
        )
        self.living.append(process)
        return process

    def ask(self, name: str) -> str:
        """A job whose process behaves as the name says."""
        return self.client.programs.capture({"model": "neg-maximum-cat", "name": name})

    def send(self, name: str, size: int = 1) -> str:
        """A job that reads an upload of this name; its process behaves as the name says."""
        upload = self.client.uploads.create(name, [], [("a.log", size)])
        append(self.client.uploads, upload.id, 0, 0, bytes(size))
        return self.client.uploads.finish(upload.id)

    def wait(self, job_id: str, seconds: float = 30.0) -> JobStatus:
        return self.until(lambda: self._if_over(job_id), seconds, f"the end of {job_id}")

    def wait_running(self, job_id: str, seconds: float = 30.0) -> JobStatus:
        """Waits until the job's process has told how far it is."""
        return self.until(lambda: self._if_moving(job_id), seconds, f"{job_id} to run")

    @staticmethod
    def until(look: Callable[[], Found | None], seconds: float, what: str) -> Found:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = look()
            if found:
                return found
            time.sleep(0.1)
        raise AssertionError(f"waited {seconds:.0f} s for {what}")

    def runs(self) -> set[str]:
        with self.sessions() as session:
            return set(session.scalars(select(Run.id)))

    def log(self, job_id: str) -> str:
        return "\n".join(line.text for line in self.client.events(job_id))

    def _if_over(self, job_id: str) -> JobStatus | None:
        status = self.client.job(job_id)
        return status if status.state in OVER else None

    def _if_moving(self, job_id: str) -> JobStatus | None:
        status = self.client.job(job_id)
        return status if status.state == "running" and status.done else None


@contextmanager
def crewed(settings: Settings) -> Iterator[Crew]:
    """Ends the workers that were started in the block."""
    engine = make_engine(settings)
    made = Crew(settings, JobsClient(settings), sessions(engine))
    yield made
    for process in made.living:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
    for process in made.living:
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
    made.client.close()
    engine.dispose()


@pytest.fixture
def crew(settings: Settings) -> Iterator[Crew]:
    """The workers of one test."""
    with crewed(settings) as made:
        yield made
