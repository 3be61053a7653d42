"""Measuring is a job for runs that this installation captured, and keeps to the job's limits."""

import subprocess
from pathlib import Path

import pytest
from inductorscope.answers.missing import NotHere
from inductorscope.cli.local import read_paths
from inductorscope.jobs.api import JobsClient
from inductorscope.jobs.errors import CaptureRefusedError
from inductorscope.jobs.queue.processes import environment
from inductorscope.jobs.queue.transitions import claim
from inductorscope.jobs.queue.workflow import child_command
from inductorscope.progress import silent
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine, sessions
from inductorscope.store.database.migrate import migrate

from tests.support.captured import captured_run


def test_a_job_measures_captures_alone(tmp_path: Path, fixtures: Path) -> None:
    pytest.importorskip("scipy")
    settings = Settings(data=tmp_path / "data", database_url="", capture_seconds=1)
    migrate(settings)
    folder = fixtures / "neg-does-not-compile"
    ours = captured_run(settings, folder, tmp_path, "neg-maximum-cat")
    uploaded = read_paths(
        settings, [fixtures / "cuda-foo1"], name=None, tags=[], origin="upload", progress=silent
    ).run_id
    client = JobsClient(settings)
    try:
        with pytest.raises(CaptureRefusedError):
            client.programs.measure(ours, uploaded)
        with pytest.raises(NotHere):
            client.programs.measure(ours, "0" * 16)
        job = client.programs.measure(ours, ours)
        attempt = claim(sessions(make_engine(settings)), job, "a test")
        assert attempt is not None
        subprocess.run(child_command(attempt), env=environment(settings), check=True)
        status = client.job(job)
        assert status.state == "failed"
        assert "time limit of 1 s" in (status.message or "")
        steps = [line.text for line in client.events(job)]
        assert "Process 1 of A" in steps
    finally:
        client.close()
