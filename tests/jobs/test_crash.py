"""Web process and workers killed at random, again and again, while uploads go on.

However that goes, every job ends, every run is whole, and none is there twice.
"""

import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from inductorscope.cli.client import Pushed
from inductorscope.jobs.queue.processes import processes_of

from tests.support.sending import push, small_pieces, variant
from tests.support.serving import Served, serve

KILLS = int(os.environ.get("CRASH_KILLS", "4"))
PEOPLE = 2
SEED = int(os.environ.get("CRASH_SEED", "20250301"))

pytestmark = pytest.mark.slow


def children(parent: int) -> dict[int, str]:
    """Processes that the supervisor started, by kind."""
    found = {}
    for task in Path(f"/proc/{parent}/task").iterdir():
        for pid in (task / "children").read_text().split():
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            if b"inductorscope_server" in command:
                found[int(pid)] = "web"
            elif b"inductorscope.jobs.queue.worker" in command:
                found[int(pid)] = "worker"
    return found


def kill_at_random(served: Served, over: threading.Event) -> Counter[str]:
    chance = random.Random(SEED)
    killed: Counter[str] = Counter()
    while killed.total() < KILLS:
        time.sleep(chance.uniform(0.2, 2.2))
        kind = chance.choice(["web", "worker"])
        living = [pid for pid, what in children(served.process.pid).items() if what == kind]
        if living:
            os.kill(chance.choice(living), signal.SIGKILL)
            killed[kind] += 1
    over.set()
    return killed


def keep_sending(
    url: str, source: Path, into: Path, person: int, over: threading.Event
) -> list[Pushed]:
    """One upload after the other until the killing is over; what became of them."""
    sent: list[Pushed] = []
    while not over.is_set():
        number = person * 1000 + len(sent)
        sent.append(push(url, variant(source, into, number), pause=0.05))
    return sent


def test_nothing_is_lost_or_doubled(
    tmp_path: Path, fixtures: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_pieces(monkeypatch)
    over = threading.Event()
    source = fixtures / "cuda-foo1"
    with serve(tmp_path / "data", "--workers", "2") as served, ThreadPoolExecutor() as pool:
        people = [
            pool.submit(keep_sending, served.url, source, tmp_path, person, over)
            for person in range(PEOPLE)
        ]
        killed = kill_at_random(served, over)
        sent = [pushed for person in people for pushed in person.result(120)]
        print(f"{dict(killed)} killed, {len(sent)} uploads")
        assert_all_whole(served, sent)
        jobs = [pushed.job for pushed in sent]
        # A job's folder goes once its process has ended, a moment after the job has.
        deadline = time.monotonic() + 30
        while left_behind(tmp_path / "data") and time.monotonic() < deadline:
            time.sleep(0.1)
    assert [pid for job in jobs for pid in processes_of(job)] == []
    assert left_behind(tmp_path / "data") == []


def left_behind(data: Path) -> list[Path]:
    return list((data / "reading").glob("*"))


def assert_all_whole(served: Served, sent: list[Pushed]) -> None:
    bad = [pushed for pushed in sent if pushed.state != "done" or pushed.duplicate]
    assert bad == []
    runs = all_runs(served.url)
    ids = [run["id"] for run in runs]
    assert len(ids) == len(set(ids)) == len(sent)
    assert {pushed.run for pushed in sent} == set(ids)
    for pushed in sent:
        assert_whole(served.url, str(pushed.run))
    active = httpx.get(f"{served.url}/api/jobs", params={"active": 1}, timeout=30).json()["jobs"]
    assert active == []


def assert_whole(url: str, run: str) -> None:
    page = httpx.get(f"{url}/api/runs/{run}", timeout=30).raise_for_status().json()
    (graph,) = page["graphs"]
    explorer = httpx.get(f"{url}/api/runs/{run}/graphs/{graph['slug']}/explorer", timeout=30)
    assert len(explorer.raise_for_status().json()["kernels"]) == 1
    links = httpx.get(f"{url}/api/runs/{run}/graphs/{graph['slug']}/links", timeout=30)
    assert links.raise_for_status().json()["entities"]


def all_runs(url: str) -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = []
    cursor = None
    while True:
        params: dict[str, str] = {"cursor": cursor} if cursor else {}
        page = retried(partial(httpx.get, f"{url}/api/", params=params, timeout=30))
        runs += page["runs"]
        cursor = page["next_cursor"]
        if not cursor:
            return runs


def retried(ask: Callable[[], httpx.Response]) -> dict[str, Any]:
    """While the web process is away, as any client would."""
    until = time.monotonic() + 60
    while True:
        try:
            found: dict[str, Any] = ask().raise_for_status().json()
            return found
        except httpx.TransportError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)
