"""Many requests that write the same file of an upload."""

import contextlib
import socket
import threading

import httpx
import pytest
from inductorscope.formats.sizes import MIB

from tests.support.attacking import ANSWER_SECONDS, Health, an_upload, bearer, close, connect, head
from tests.support.serving import Served

REQUESTS = 100

pytestmark = pytest.mark.slow


def patch(url: str, token: str, path: str) -> socket.socket:
    """Begins to send a file, and leaves it at that."""
    opened = connect(url)
    opened.sendall(
        head(url, "PATCH", path, token, Content_Length=str(MIB), Upload_Offset="0") + b"\0"
    )
    return opened


def attack(url: str, token: str, stop: threading.Event) -> None:
    opened: list[socket.socket] = []
    try:
        while not stop.is_set():
            with contextlib.suppress(OSError, httpx.HTTPError):
                path = an_upload(url, token)
                opened.extend(patch(url, token, path) for _ in range(REQUESTS))
                stop.wait(6)
                close(opened)
                upload = path.partition("/files/")[0]
                httpx.delete(f"{url}{upload}", headers=bearer(token), timeout=60)
    finally:
        close(opened)


def test_requests_that_wait_for_a_file_hold_up_nobody(served: Served) -> None:
    path = an_upload(served.url, "")
    opened = [patch(served.url, "", path) for _ in range(REQUESTS)]
    try:
        with Health(served.url) as health:
            for _ in range(20):
                assert httpx.get(served.url, timeout=20).status_code == 200
        assert not health.failures
        assert health.slowest < ANSWER_SECONDS
        opened[-1].settimeout(20)
        answer = opened[-1].recv(1000)
        assert b" 409 " in answer.partition(b"\r\n")[0]
    finally:
        close(opened)
    whole = httpx.patch(
        f"{served.url}{path}", content=b"\0" * MIB, headers={"Upload-Offset": "0"}, timeout=20
    )
    assert whole.status_code in {204, 409}
