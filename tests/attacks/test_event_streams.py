"""Hundreds of streams that follow a job."""

import contextlib
import socket
import threading

import httpx
import pytest

from tests.support.attacking import (
    ANSWER_SECONDS,
    Health,
    an_upload,
    bearer,
    close,
    connect,
    head,
    is_closed,
)
from tests.support.serving import Served

STREAMS = 300
AT_ONCE = 60
"""Fewer than the server lets wait, so that it refuses none."""
READ = 3
"""Streams that are read to their end."""

pytestmark = pytest.mark.slow


def stream(url: str, token: str, job: str) -> socket.socket:
    opened = connect(url)
    path = f"/api/jobs/{job}/events"
    opened.sendall(head(url, "GET", path, token, Accept="text/event-stream"))
    return opened


def attack(url: str, token: str, stop: threading.Event, at_once: int = AT_ONCE) -> None:
    """Follows whatever job is under way, hundreds of times, and reads nothing of it."""
    opened: list[socket.socket] = []
    try:
        while not stop.wait(2.0):
            with contextlib.suppress(OSError, httpx.HTTPError):
                page = httpx.get(
                    f"{url}/api/jobs?active=true", headers=bearer(token), timeout=60
                ).raise_for_status()
                for job in page.json()["jobs"][:5]:
                    opened.extend(stream(url, token, job["id"]) for _ in range(at_once))
            while len(opened) > STREAMS or (opened and is_closed(opened[0])):
                opened.pop(0).close()
    finally:
        close(opened)


def test_streams_hold_up_nobody(served: Served) -> None:
    job = a_queued_job(served.url)
    opened: list[socket.socket] = []
    try:
        for _ in range(STREAMS):
            opened.append(stream(served.url, "", job))
            if len(opened) % AT_ONCE == 0:
                assert opened[-1].recv(12, socket.MSG_PEEK | socket.MSG_WAITALL) == b"HTTP/1.1 200"
        with Health(served.url) as health:
            for _ in range(20):
                assert httpx.get(served.url, timeout=20).status_code == 200
        assert not health.failures
        assert health.slowest < ANSWER_SECONDS
        _cancel_and_read(served.url, job, opened[-READ:])
    finally:
        close(opened)


def a_queued_job(url: str) -> str:
    path = an_upload(url, "", 2)
    patched = httpx.patch(f"{url}{path}", content=b"ab", headers={"Upload-Offset": "0"})
    patched.raise_for_status()
    finished = httpx.post(
        f"{url}{path.partition('/files/')[0]}/finish", timeout=30
    ).raise_for_status()
    return str(finished.json()["job"])


def _cancel_and_read(url: str, job: str, streams: list[socket.socket]) -> None:
    """The newest streams still tell what happens."""
    httpx.post(f"{url}/api/jobs/{job}/cancel", timeout=30).raise_for_status()
    for opened in streams:
        opened.settimeout(20)
        text = b""
        while b"event: end" not in text:
            piece = opened.recv(65536)
            assert piece, text
            text += piece
        assert b"cancelled" in text
