"""A diagnosis of a program that crashes leaves a verdict, and a worker in service."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from inductorscope.cli.local import read_paths
from inductorscope.jobs.api import JobsClient
from inductorscope.jobs.errors import CaptureRefusedError
from inductorscope.jobs.records import OVER, JobStatus
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine, sessions
from inductorscope.store.runs.diagnoses import DiagnosisRead, read_diagnosis

from tests.support.captured import captured_run
from tests.support.serving import Served

pytestmark = pytest.mark.slow

HURTS = """
import os
import signal

import torch


def segfaults():
    return lambda x: os.kill(os.getpid(), signal.SIGSEGV), (torch.ones(2),)


def segfaults_compiled():
    from torch._inductor.codegen.cpp import CppOverrides, CppVecOverrides

    for overrides in (CppOverrides, CppVecOverrides):
        overrides.neg = staticmethod(lambda x: f"decltype({x})(*(volatile float*)nullptr)")
    # Too much to keep in the program, of which there is one form then.
    return lambda x: torch.neg(x + 1).tanh(), (torch.randn(600, 600),)
"""


@dataclass
class Place:
    """An installation with one worker that may run `hurts`."""

    settings: Settings
    client: JobsClient
    captured: Callable[[str], str]

    def wait(self, job: str, seconds: float = 120.0) -> JobStatus:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            status = self.client.job(job)
            if status.state in OVER:
                return status
            time.sleep(0.1)
        raise AssertionError(f"waited {seconds:.0f} s for the end of {job}")


@pytest.fixture(scope="module")
def place(
    server: Served, tmp_path_factory: pytest.TempPathFactory, fixtures: Path
) -> Iterator[Place]:
    root = tmp_path_factory.mktemp("diagnosis")
    (server.data.parent / "models" / "hurts.py").write_text(HURTS)
    settings = Settings(data=server.data, database_url="")
    client = JobsClient(settings)

    def captured(factory: str) -> str:
        """The run of a capture that asked for this factory."""
        return captured_run(settings, fixtures / "neg-does-not-compile", root, f"hurts:{factory}")

    yield Place(settings, client, captured)
    client.close()


def test_a_crash_is_a_verdict_and_the_worker_goes_on(place: Place) -> None:
    words = "without it, the program was ended by SIGSEGV."
    job = place.client.programs.diagnose("components", place.captured("segfaults"), {})
    status = place.wait(job)
    assert (status.state, status.attempts) == ("done", 1), status.message
    assert words in (status.message or "")
    with sessions(make_engine(place.settings))() as session:
        found = read_diagnosis(session, job)
    assert found is not None
    assert found.line.complete
    assert words in found.line.summary["verdict"]
    (worker,) = place.client.workers()
    assert worker.alive


def test_a_search_survives_graphs_that_segfault_and_goes_on_after_a_stop(place: Place) -> None:
    run = place.captured("segfaults_compiled")
    minify = partial(place.client.programs.diagnose, "minify", run)
    stopped = minify({"after": "dynamo"})

    def found(job: str) -> DiagnosisRead | None:
        with sessions(make_engine(place.settings))() as session:
            return read_diagnosis(session, job)

    end = time.monotonic() + 120
    while (read := found(stopped)) is None or not read.result["queries"]:
        assert time.monotonic() < end
        time.sleep(0.1)
    assert place.client.cancel(stopped)
    place.wait(stopped)
    before = found(stopped)
    assert before is not None
    assert not before.line.complete
    job = minify({"resume": stopped})
    status = place.wait(job)
    assert (status.state, status.attempts) == ("done", 1), status.message
    after = found(job)
    assert after is not None
    assert after.result["notes"][:-1] == []  # the last: the program does not have the fault
    assert after.result["after"] == "dynamo"
    assert after.result["summary"]["names"] == ["neg"]
    assert after.result["failure"]["message"] == "The process was ended by SIGSEGV."
    answers = before.result["checkpoint"]["answers"]
    assert after.result["checkpoint"]["answers"].startswith(answers)
    assert "1" in after.result["checkpoint"]["answers"].removeprefix(answers)
    (worker,) = place.client.workers()
    assert worker.alive


def test_runs_of_others_are_refused(place: Place, fixtures: Path) -> None:
    run = read_paths(
        place.settings, [fixtures / "cpu-ops-zoo"], name=None, tags=[], origin="upload",
        progress=lambda *_: None,
    ).run_id  # fmt: skip
    with pytest.raises(CaptureRefusedError, match="never run here"):
        place.client.programs.diagnose("components", run, {})
