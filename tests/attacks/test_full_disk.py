"""Uploads that fill the disk, and a disk that another program filled: everything can be mended from
the product."""

import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from inductorscope.cli.client import Client
from inductorscope.cli.local import read_paths
from inductorscope.formats.sizes import GIB, MIB
from inductorscope.jobs.queue.engine import prepare
from inductorscope.progress import silent
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine
from inductorscope.store.database.room import fill_reserve
from inductorscope_server.web.parts import HEALTH_SECONDS

from tests.support.attacking import bearer
from tests.support.places import FIXTURES
from tests.support.sending import push, variant
from tests.support.serving import Served, serve
from tests.support.small_disk import fill, free, small_disk, unfill

DISK_MIB = 64
PIECE = MIB
QUIET_SECONDS = 7.0
"""How long the log is watched for floods."""
MOST_LINES = 20


def attack(url: str, token: str, stop: threading.Event) -> None:
    """Announces as much as it may, sends a little of each, finishes nothing."""
    with httpx.Client(base_url=url, headers=bearer(token), timeout=60) as client:
        while not stop.wait(0.2):
            with contextlib.suppress(httpx.TransportError):
                send_unfinished(client, GIB, b"x" * 1000)


def send_unfinished(client: httpx.Client, size: int, data: bytes) -> httpx.Response:
    """Announces an upload and sends its beginning; the answer that refused, or the last one."""
    asked = {"files": [{"path": "a.log", "size": size}]}
    answer = client.post("/api/uploads", json=asked)
    if answer.status_code != 201:
        return answer
    where = f"/api/uploads/{answer.json()['id']}/files/0"
    return client.patch(where, content=data, headers={"Upload-Offset": "0"})


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server whose data folder, with one run, is all that a small disk holds. The disk was full
    when it started, until the first test mends that."""
    folder = tmp_path_factory.mktemp("full")
    with small_disk(folder / "disk", DISK_MIB) as disk:
        settings = Settings(data=disk / "data", database_url="")
        prepare(settings)
        source = [FIXTURES / "cuda-foo1"]
        read_paths(settings, source, name=None, tags=[], origin="ingest", progress=silent)
        engine = make_engine(settings)
        fill_reserve(engine)
        engine.dispose()
        fill(disk)
        with serve(disk / "data", log=folder / "log") as running:
            yield running


def a_run(url: str, into: Path, number: int) -> str:
    pushed = push(url, variant(FIXTURES / "cuda-foo1", into, number, padding=4 * MIB))
    assert pushed.state == "done", pushed.message
    return str(pushed.run)


def health(served: Served) -> dict[str, Any]:
    time.sleep(HEALTH_SECONDS)
    found: dict[str, Any] = httpx.get(f"{served.url}/healthz", timeout=10).raise_for_status().json()
    return found


def test_a_server_starts_on_a_full_disk_and_can_be_mended(served: Served, tmp_path: Path) -> None:
    assert "is full" in health(served)["disk"]
    with httpx.Client(base_url=served.url, timeout=60) as client:
        (run,) = (row["id"] for row in client.get("/api/").json()["runs"])
        assert client.get(f"/runs/{run}").status_code in (200, 302)
        assert client.delete(f"/api/runs/{run}").status_code == 204
        assert served.said().count("starting it again") == 0, served.said()
        unfill(served.data.parent)
        mended = a_run(served.url, tmp_path, 1)
        assert client.delete(f"/api/runs/{mended}").status_code == 204


def test_a_job_that_fills_the_disk_ends_once(served: Served, tmp_path: Path) -> None:
    disk = served.data.parent
    archive = tmp_path / "large.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("large.log", bytes(62 * MIB))
    before = free(disk)
    pushed = Client(served.url).push([archive], "large", [], lambda *_: None)
    assert pushed.state == "failed"
    assert f"This filled the disk of {served.data} (64 MiB)" in (pushed.message or "")
    job = httpx.get(f"{served.url}/api/jobs/{pushed.job}", timeout=10).json()["job"]
    assert job["attempts"] == 1
    assert not list((served.data / "reading").iterdir())
    assert not list((served.data / "uploads").iterdir())
    assert free(disk) > before - 6 * MIB  # the reserve and the database's own growth
    assert a_run(served.url, tmp_path, 10)


def test_uploads_leave_room_and_runs_can_be_deleted_on_a_full_disk(
    served: Served, tmp_path: Path
) -> None:
    disk = served.data.parent
    first, second = (a_run(served.url, tmp_path, number) for number in range(2))
    data = str(served.data)
    with httpx.Client(base_url=served.url, timeout=60) as client:
        # Uploads stop ahead of the end of the disk.
        noise = random.Random(1).randbytes(8 * MIB)
        answer = client.get("/healthz")
        for _ in range(40):
            answer = send_unfinished(client, len(noise), noise)
            if answer.status_code not in (201, 204):
                break
        assert answer.status_code == 507
        assert f"The disk of {data}/uploads" in answer.json()["error"]["what"]
        assert "drop uploads" in answer.json()["error"]["do"]
        assert free(disk) >= DISK_MIB * MIB // 8

        # Another program takes the rest. The server says so, and stays.
        fill(disk)
        assert free(disk) == 0
        assert f"The disk of {data} is full" in health(served)["disk"]
        page = client.get("/jobs").text
        assert re.search(r"is full: \d of 64 MiB are free", page)
        assert page.count("/drop") == len(client.get("/api/uploads").json()["uploads"]) > 2
        (worker,) = worker_processes(served)
        os.kill(worker, signal.SIGKILL)
        lines = len(served.said().splitlines())
        time.sleep(QUIET_SECONDS)
        assert len(served.said().splitlines()) - lines < MOST_LINES, served.said()
        assert served.said().count("starting it again") == 1
        assert served.process.poll() is None

        # Deleting works: by page and command line. So does dropping.
        assert client.post(f"/runs/{first}/delete").status_code == 303
        fill(disk)
        assert "Deleted" in command("delete", second, data)
        fill(disk)
        by_api, by_page, *_ = (row["id"] for row in client.get("/api/uploads").json()["uploads"])
        assert client.delete(f"/api/uploads/{by_api}").status_code == 204
        assert client.post(f"/uploads/{by_page}/drop").status_code == 303
        assert free(disk) >= 0
        assert "Dropped" in command("uploads", "--drop-all", data)
        assert client.get("/api/uploads").json()["uploads"] == []
        unfill(disk)
    assert health(served)["disk"] is None
    assert a_run(served.url, tmp_path, 9)


def command(*arguments: str) -> str:
    *words, data = arguments
    done = subprocess.run(
        [sys.executable, "-m", "inductorscope", *words, "--data", data],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def worker_processes(served: Served) -> list[int]:
    return [
        int(pid)
        for task in Path(f"/proc/{served.process.pid}/task").iterdir()
        for pid in (task / "children").read_text().split()
        if b"queue.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]
