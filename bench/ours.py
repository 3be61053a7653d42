"""Inductorscope reading a log: as a command of its own, and in a dashboard that is running."""

import contextlib
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
from inductorscope.cli.client import CHUNK
from inductorscope.jobs.queue.health import living_workers
from inductorscope.settings import Settings
from inductorscope.store.database.engine import engine_of, sessions

from bench.measure import MeasuredProcessError, MemoryWatch, family, run

LOOK_SECONDS = 0.01
ASK_SECONDS = 1.0
"""Between questions whether a job failed."""
START_SECONDS = 120
PACKET = 64 * 1024
DATABASE = "inductorscope.db"
SMALL = Path(__file__).resolve().parent.parent / "tests/fixtures/cuda-foo1/torch_trace"
"""Where a small log lies."""


@dataclass(frozen=True)
class Read:
    """One reading. All times count from the command's start, or from the upload's last request:
    a dashboard has read what came before."""

    browsable_seconds: float
    """Until the graphs with all their texts, and every payload, can be opened by others."""
    complete_seconds: float
    """Until it is parsed, its kernels' calls are linked, and it can be searched."""
    aligned_seconds: float
    """Until the lines of its kernels are aligned too, and the command ends."""
    cpu_seconds: float | None
    """Of the command; what a worker's process takes is not known outside of it."""
    peak_bytes: int
    stored_bytes: int
    """Growth of the database file."""
    sending_seconds: float = 0.0
    """Of an upload, from its first request to its last."""


def fresh(work: Path) -> Path:
    data = work / "data"
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(parents=True)
    return data


def database_bytes(data: Path) -> int:
    """Size of the database file with all that was written in it."""
    with contextlib.closing(sqlite3.connect(data / DATABASE)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return (data / DATABASE).stat().st_size


def inductorscope(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "inductorscope", *map(str, arguments)]


def empty_bytes(work: Path) -> int:
    """Size of a database that holds no run yet."""
    data = fresh(work)
    run(inductorscope("runs", "--data", data), work / "empty.log")
    return database_bytes(data)


def empty_dashboard_bytes(work: Path) -> int:
    """The same of one that a dashboard has opened: the job engine's tables are in it."""
    data = fresh(work)
    with serving(data):
        pass
    return database_bytes(data)


RUNS = "(SELECT id FROM runs WHERE trashed_at IS NULL)"
SEEN = (
    f"SELECT EXISTS (SELECT 1 FROM graphs WHERE run_id IN {RUNS}), EXISTS (SELECT 1 FROM "
    f"trace_kernels JOIN profiles ON profiles.id = profile_id WHERE run_id IN {RUNS})"
)
WHOLE = "SELECT 1 FROM runs WHERE state = 'complete' AND trashed_at IS NULL LIMIT 1"


class Onlooker:
    """Notes when another process than their writer can read the graphs of the first run, or the
    kernels of its profile, and when the run is complete."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._over = threading.Event()
        self.seen: float | None = None
        self.complete: float | None = None
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while self.complete is None and not self._over.wait(LOOK_SECONDS):
            with contextlib.suppress(sqlite3.OperationalError):  # no file, or no tables yet
                self._ask()

    def _ask(self) -> None:
        address = f"file:{self._database}?mode=ro"
        with contextlib.closing(sqlite3.connect(address, uri=True)) as connection:
            while not self._over.wait(LOOK_SECONDS):
                if not self.seen and any(map(any, connection.execute(SEEN).fetchall())):
                    self.seen = time.monotonic()
                if connection.execute(WHOLE).fetchone():
                    self.complete = time.monotonic()
                    return

    def stop(self) -> None:
        self._over.set()
        self._thread.join()


def by_command(paths: list[Path], work: Path, empty: int) -> Read:
    """`inductorscope ingest`, cold, into a database without runs."""
    data = fresh(work)
    run(inductorscope("runs", "--data", data), work / "empty.log")
    onlooker = Onlooker(data / DATABASE)
    started = time.monotonic()
    try:
        finished = run(inductorscope("ingest", "--data", data, *paths), work / "ingest.log")
    finally:
        onlooker.stop()
    stored = database_bytes(data) - empty
    shutil.rmtree(data)
    # Without one: it fell between two looks, and can be no later than what follows.
    complete = onlooker.complete or started + finished.seconds
    seen = onlooker.seen or complete
    return Read(
        seen - started,
        complete - started,
        finished.seconds,
        finished.cpu_seconds,
        finished.peak_bytes,
        stored,
    )


def in_dashboard(log: Path, work: Path, empty: int, rate: float | None = None) -> Read:
    """An upload to a running server, from its last request on; `rate`: bytes a second at which it
    is sent, where not as fast as it can be.

    Memory is looked at in a second reading: looking takes both processors time, of as many
    processes as there are.
    """
    data = fresh(work)
    with serving(data) as (url, _), httpx.Client(base_url=url, timeout=60) as client:
        _use(client)
        read = _upload(client, log, data, rate)
        aligned = _wait_for_lines(client, read.run_id) - read.started
    stored = database_bytes(data) - empty
    shutil.rmtree(data)
    return Read(
        read.browsable_seconds,
        read.complete_seconds,
        aligned,
        None,
        _peak_of(log, work, rate),
        stored,
        read.sending_seconds,
    )


def _peak_of(log: Path, work: Path, rate: float | None) -> int:
    data = fresh(work)
    with serving(data) as (url, pid), httpx.Client(base_url=url, timeout=60) as client:
        _use(client)
        watch = MemoryWatch(pid, without=set(family(pid)))
        _upload(client, log, data, rate)
        watch.stop()
    shutil.rmtree(data)
    return watch.peak


def _use(client: httpx.Client) -> None:
    """Has the dashboard read a small log, as one that is in use has: to its first requests a
    process answers more slowly. What it made is taken away."""
    upload = _send(client, next(SMALL.glob("*.log")), None)
    job = client.post(f"/api/uploads/{upload}/finish").raise_for_status().json()["job"]
    while (run_id := _run_of(client, job, done=True)) is None:
        time.sleep(LOOK_SECONDS)
    if not _opens(client, run_id):
        raise MeasuredProcessError(f"Run {run_id} is complete and does not open.")
    _wait_for_lines(client, run_id)
    client.delete(f"/api/runs/{run_id}").raise_for_status()


@dataclass(frozen=True)
class _Uploaded:
    """One upload that was read; times from its last request on."""

    run_id: str
    started: float
    browsable_seconds: float
    complete_seconds: float
    sending_seconds: float


def _upload(client: httpx.Client, log: Path, data: Path, rate: float | None) -> _Uploaded:
    onlooker = Onlooker(data / DATABASE)
    first = time.monotonic()
    try:
        upload = _send(client, log, rate)
        started = time.monotonic()
        job = client.post(f"/api/uploads/{upload}/finish").raise_for_status().json()["job"]
        browsable, complete, run_id = _follow(client, str(job), onlooker)
    finally:
        onlooker.stop()
    times = browsable - started, complete - started, started - first
    return _Uploaded(run_id, started, *times)


def _send(client: httpx.Client, log: Path, rate: float | None) -> str:
    size = log.stat().st_size
    asked = {"name": log.name, "tags": [], "files": [{"path": log.name, "size": size}]}
    upload = str(client.post("/api/uploads", json=asked).raise_for_status().json()["id"])
    with log.open("rb") as stream:
        offset = 0
        while offset < size:
            piece = stream.read(CHUNK)
            headers = {"Upload-Offset": str(offset), "Content-Length": str(len(piece))}
            address = f"/api/uploads/{upload}/files/0"
            content = piece if rate is None else _paced(piece, rate)
            client.patch(address, content=content, headers=headers).raise_for_status()
            offset += len(piece)
    return upload


def _paced(piece: bytes, rate: float) -> Iterator[bytes]:
    """Its bytes, none sooner than a line of that rate would have it."""
    begun = time.monotonic()
    for start in range(0, len(piece), PACKET):
        time.sleep(max(0.0, begun + start / rate - time.monotonic()))
        yield piece[start : start + PACKET]


def _wait_for_lines(client: httpx.Client, run_id: str) -> float:
    """When the lines of all kernels were aligned."""
    while client.get(f"/api/runs/{run_id}/state").raise_for_status().json()["lines"] is not None:
        time.sleep(10 * LOOK_SECONDS)
    return time.monotonic()


def _follow(client: httpx.Client, job: str, onlooker: Onlooker) -> tuple[float, float, str]:
    """When the run's texts could be opened, when it was complete, and the run.

    The database tells when to ask: a request takes the server some 10 ms of the processors that
    it measures.
    """
    browsable: float | None = None
    asked = time.monotonic()
    while onlooker.complete is None:
        if browsable is None and onlooker.seen is not None and _opens(client, _run_of(client, job)):
            browsable = time.monotonic()
        if time.monotonic() - asked > ASK_SECONDS:
            asked = time.monotonic()
            _run_of(client, job)
        time.sleep(LOOK_SECONDS)
    while (run_id := _run_of(client, job, done=True)) is None:
        time.sleep(LOOK_SECONDS)
    if not _opens(client, run_id):
        raise MeasuredProcessError(f"Run {run_id} is complete and does not open.")
    complete = onlooker.complete
    return complete if browsable is None else min(browsable, complete), complete, run_id


def _run_of(client: httpx.Client, job: str, *, done: bool = False) -> str | None:
    """The run that a job makes, once there is one; `done`: once it has made it."""
    row = client.get(f"/api/jobs/{job}").raise_for_status().json()["job"]
    if row["state"] in {"failed", "cancelled"}:
        raise MeasuredProcessError(f"The dashboard did not read the log: {row['message']}")
    return None if done and row["state"] != "done" else row["run_id"]


def _opens(client: httpx.Client, run_id: str | None) -> bool:
    """Whether the run's last graph is there and its first text opens; of a run without graphs,
    whether its profile was broken down."""
    if run_id is None:
        return False
    found = client.get(f"/api/runs/{run_id}")
    if found.status_code != httpx.codes.OK:
        return False
    graphs = found.json()["graphs"]
    if not graphs:
        times = client.get(f"/api/runs/{run_id}/time").raise_for_status().json()
        return any(profile["facts"].get("breakdown") for profile in times["profiles"])
    address = f"/api/runs/{run_id}/graphs/{graphs[-1]['slug']}/explorer"
    stages = client.get(address).raise_for_status().json()["stages"]
    artifact = next(file["artifact"] for stage in stages for file in stage["files"])
    client.get(f"/api/artifacts/{artifact}/text").raise_for_status()
    return True


@contextlib.contextmanager
def serving(data: Path) -> Iterator[tuple[str, int]]:
    """A dashboard with a worker that is up; its address and process."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    url = f"http://127.0.0.1:{port}"
    with (data / "serve.log").open("wb") as output:
        process = subprocess.Popen(
            inductorscope("serve", "--data", data, "--port", port),
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        _wait_until_up(url, data)
        yield url, process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _wait_until_up(url: str, data: Path) -> None:
    until = time.monotonic() + START_SECONDS
    settings = Settings(data=data, database_url="")
    while time.monotonic() < until:
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(f"{url}/healthz", timeout=5).status_code == 200 and _has_worker(settings):
                return
        time.sleep(0.2)
    said = (data / "serve.log").read_text(errors="replace")
    raise MeasuredProcessError(f"The dashboard did not start in {START_SECONDS} s:\n{said}")


def _has_worker(settings: Settings) -> bool:
    with engine_of(settings) as engine, sessions(engine, read_only=True)() as session:
        return bool(living_workers(session))
