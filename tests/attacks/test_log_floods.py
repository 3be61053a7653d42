"""Failures that repeat, and what the log holds of them."""

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
        send_garbage(url)
        stop.wait(0.01)


def send_garbage(url: str) -> int:
    """One request of each kind; how many they are."""
    kinds = (*GARBAGE, *_broken(url))
    for garbage in kinds:
        with contextlib.suppress(OSError), connect(url) as opened:
            opened.sendall(garbage)
            opened.recv(100)
            opened.sendall(b"zz\r\n\r\n")
    return len(kinds)


def _broken(url: str) -> list[bytes]:
    """Requests whose body turns out to be broken after the answer has begun."""
    begun = head(url, "POST", "/healthz", Transfer_Encoding="chunked")
    return [begun + body for body in BROKEN_BODIES]


def test_requests_that_cannot_be_read_are_counted(serving: Callable[[str], Served]) -> None:
    served = serving("sqlite")
    before = served.said().count("\n")
    sent = 0
    while sent < REQUESTS:
        sent += send_garbage(served.url)
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
        for _ in range(REQUESTS // 2):
            try:
                assert httpx.get(f"{served.url}/healthz", timeout=5).status_code == 503
                assert httpx.get(served.url, timeout=20).status_code == 503
            except httpx.ConnectError as gone:
                raise AssertionError(served.said()[-20_000:]) from gone
        during = served.said().count("\n") - before
        pg_server.run("ALTER DATABASE outage WITH ALLOW_CONNECTIONS true")
        until = time.monotonic() + 20
        while httpx.get(served.url, timeout=20).status_code != 200:
            assert time.monotonic() < until
    assert 0 < during < MOST_LINES, served.said()[:20_000]
    pg_server.run("DROP DATABASE outage WITH (FORCE)")
