"""`inductorscope serve` as people run it: starts, stops, dies, and refuses to start."""

import importlib.util
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import httpx
import pytest
from inductorscope.jobs.api import JobsClient
from inductorscope.jobs.queue.address import answers
from inductorscope.jobs.queue.processes import environment, processes_of
from inductorscope.jobs.queue.supervisor import Supervised
from inductorscope.settings import Settings

from tests.support.serving import START_SECONDS, Served, free_port, serve

pytestmark = pytest.mark.slow


def children(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += [int(child) for child in (task / "children").read_text().split()]
    return found


def living(pids: list[int]) -> list[int]:
    return [pid for pid in pids if Path(f"/proc/{pid}/cmdline").exists() and _state(pid) != "Z"]


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def until(look: Callable[[], bool], seconds: float = START_SECONDS) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if look():
            return True
        time.sleep(0.05)
    return False


def test_a_web_process_that_does_not_answer_is_started_again(tmp_path: Path) -> None:
    port = free_port()
    settings = Settings(data=tmp_path / "data", database_url="", port=port)
    web = Supervised(
        "web process",
        [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1"],
        answers=partial(answers, "127.0.0.1", port),
        silent_after=1.0,
    )
    variables = environment(settings)

    def looks_until(done: Callable[[], bool]) -> bool:
        def look() -> bool:
            web.look(variables)
            return done()

        return until(look)

    try:
        assert looks_until(lambda: web.answered is not None)
        assert web.process is not None
        hanging = web.process
        hanging.send_signal(signal.SIGSTOP)
        assert looks_until(lambda: web.process is not hanging)
        assert hanging.returncode == -signal.SIGKILL
        assert web.silences == 1
        assert looks_until(lambda: web.answered is not None)
    finally:
        if web.process is not None:
            web.process.kill()
            web.process.wait()


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/healthz", timeout=2).status_code == 200
    except httpx.TransportError:
        return False


def test_a_taken_port_is_an_error_not_a_loop(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "inductorscope", "serve", "--data", str(tmp_path)]
        done = subprocess.run(
            [*command, "--port", port, "--workers", "0"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 1
    assert f"Port {port}" in done.stderr
    assert "Traceback" not in done.stderr


def test_processes_on_one_folder_have_different_names_and_what_dies_is_started_again(
    tmp_path: Path,
) -> None:
    """And a second server with workers is refused, and nothing outlives a supervisor."""
    data = tmp_path / "data"

    def names(url: str) -> set[str]:
        page = httpx.get(f"{url}/api/jobs", timeout=10).raise_for_status().json()
        return {worker["id"] for worker in page["workers"]}

    workers = [sys.executable, "-m", "inductorscope", "worker", "--data", str(data)]
    with serve(data) as first, serve(data, "--workers", "0") as second:
        refused = subprocess.run(
            [*workers[:3], "serve", "--data", str(data), "--port", "0"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert refused.returncode == 1
        assert f"at {first.url}" in refused.stderr or f"at {second.url}" in refused.stderr
        assert "--workers 0" in refused.stderr
        more = subprocess.Popen(workers)
        assert until(lambda: len(names(first.url)) == 2)
        assert names(first.url) == names(second.url)
        before = children(first.process.pid)
        started = [*before, *children(second.process.pid), *children(more.pid)]
        assert len(started) == 4
        more.terminate()
        assert more.wait(20) == 0

        for pid in before:
            os.kill(pid, signal.SIGKILL)
        assert until(lambda: not set(before) & set(children(first.process.pid)))
        assert until(lambda: len(children(first.process.pid)) == 2)
        assert until(lambda: _answers(first.url)), first.said()
        assert "ended by SIGKILL; starting it again" in first.said()
        started += children(first.process.pid)
        first.process.kill()
        first.process.wait()
        assert until(lambda: not living(started[-2:]))
    assert second.process.returncode == 0
    assert living(started) == []


def test_the_first_capture_is_asked_for_once(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data", database_url="")
    with closing(JobsClient(settings)) as client:
        assert client.capture_first("neg-maximum-cat")
        assert client.capture_first("neg-maximum-cat") is None


@pytest.mark.torch
@pytest.mark.skipif(not importlib.util.find_spec("torch"), reason="needs torch")
def test_the_first_capture_of_a_server_is_cancelled_with_its_compilers(tmp_path: Path) -> None:
    """As `make run` asks for one."""
    with serve(tmp_path / "data", "--first-capture", "gpt-small") as server:
        (row,) = httpx.get(f"{server.url}/api/jobs", timeout=30).raise_for_status().json()["jobs"]
        assert row["title"] == "gpt-small"
        cancel_while_it_compiles(server, row["id"])


def cancel_while_it_compiles(server: Served, job: str) -> None:
    def is_compiling() -> bool:
        row = httpx.get(f"{server.url}/api/jobs/{job}", timeout=30).json()["job"]
        return "compil" in row["step"]

    assert until(is_compiling, 60)
    assert len(processes_of(job)) >= 2
    asked = httpx.post(f"{server.url}/api/jobs/{job}/cancel", timeout=30)
    assert asked.json()["cancelled"]
    assert until(lambda: not processes_of(job), 20)
    row = httpx.get(f"{server.url}/api/jobs/{job}", timeout=30).json()["job"]
    assert row["state"] == "cancelled"
    captures = server.data / "captures"
    assert until(lambda: not list(captures.iterdir()))
