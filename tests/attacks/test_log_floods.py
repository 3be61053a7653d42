"""Failures that repeat, and what the log holds of them."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from inductorscope_server.web.parts import HEALTH_SECONDS

from tests.support.attacking import connect, head
from tests.support.postgres import PostgresServer
from tests.support.serving import Served, serve

GARBAGE = (
    b"\r\n\r\nnonsense\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: " + b"x" * 70_000,
)
BROKEN_BODIES = (b"zz\r\n", b"5\r\nab")
REQUESTS = 300
MOST_LINES = 200

pytestmark = pytest.mark.slow


def attack(url: str, token: str, stop: threading.Event) -> None:
    while not stop.is_set():
        for garbage in (*GARBAGE, *_broken(url)):
            with contextlib.suppress(OSError), connect(url) as opened:
                opened.sendall(garbage)
                opened.recv(100)
                opened.sendall(b"zz\r\n\r\n")
        stop.wait(0.01)


def _broken(url: str) -> list[bytes]:
    """Requests whose body turns out to be broken after the answer has begun."""
    begun = head(url, "POST", "/healthz", Transfer_Encoding="chunked")
    return [begun + body for body in BROKEN_BODIES]


def test_requests_that_cannot_be_read_are_counted(serving: Callable[[str], Served]) -> None:
    served = serving("sqlite")
    before = served.said().count("\n")
    stop = threading.Event()
    threads = [threading.Thread(target=attack, args=(served.url, "", stop)) for _ in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(2)
    stop.set()
    for thread in threads:
        thread.join()
    assert httpx.get(served.url, timeout=20).status_code == 200
    assert served.said().count("\n") - before < MOST_LINES, served.said()[-10_000:]


@pytest.mark.postgres
def test_an_outage_of_the_database_is_counted(pg_server: PostgresServer, tmp_path: Path) -> None:
    pg_server.run("CREATE DATABASE outage")
    env = {"INDUCTORSCOPE_DATABASE_URL": pg_server.url("outage")}
    with serve(tmp_path / "data", "--workers", "1", env=env) as served:
        before = served.said().count("\n")
        pg_server.run("ALTER DATABASE outage WITH ALLOW_CONNECTIONS false")
        pg_server.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'outage'"
        )
        time.sleep(HEALTH_SECONDS)
        until = time.monotonic() + 3
        while time.monotonic() < until:
            assert httpx.get(f"{served.url}/healthz", timeout=5).status_code == 503
            assert httpx.get(served.url, timeout=20).status_code == 503
        during = served.said().count("\n") - before
        pg_server.run("ALTER DATABASE outage WITH ALLOW_CONNECTIONS true")
        until = time.monotonic() + 20
        while httpx.get(served.url, timeout=20).status_code != 200:
            assert time.monotonic() < until
    assert 0 < during < MOST_LINES, served.said()[:20_000]
    pg_server.run("DROP DATABASE outage WITH (FORCE)")
