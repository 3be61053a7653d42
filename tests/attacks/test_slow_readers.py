"""Clients that ask for a large file and do not read it."""

import socket
import threading
from collections.abc import Callable

import httpx
import pytest
from inductorscope.formats.sizes import MIB

from tests.support.attacking import (
    ANSWER_SECONDS,
    Health,
    a_large_file,
    close,
    connect,
    head,
    is_closed,
)
from tests.support.serving import Served

READERS = 40
LARGE = 8 * MIB

pytestmark = pytest.mark.slow

LargeFile = Callable[[Served, int], str]


def reader(url: str, token: str, path: str) -> socket.socket:
    opened = connect(url, receive_bytes=4096)
    opened.sendall(head(url, "GET", path, token))
    return opened


def attack(url: str, token: str, stop: threading.Event) -> None:
    """Keeps many readers open that take nothing; those that the server ends come back."""
    path = a_large_file(url, token, LARGE)
    readers: list[socket.socket] = []
    try:
        while not stop.wait(0.05):
            if len(readers) < READERS:
                readers.append(reader(url, token, path))
            elif is_closed(readers[0], 0.2):
                readers.pop(0).close()
            else:
                readers.append(readers.pop(0))
    finally:
        close(readers)


def test_readers_that_do_not_read_hold_up_nobody(served: Served, large_file: LargeFile) -> None:
    path = large_file(served, LARGE)
    readers = [reader(served.url, "", path) for _ in range(READERS)]
    try:
        with Health(served.url) as health:
            for _ in range(10):
                assert httpx.get(served.url, timeout=20).status_code == 200
        assert not health.failures
        assert health.slowest < ANSWER_SECONDS
    finally:
        close(readers)


def test_a_reader_that_takes_nothing_is_ended(impatient: Served, large_file: LargeFile) -> None:
    path = large_file(impatient, LARGE)
    with reader(impatient.url, "", path) as slow:
        slow.recv(1)
        assert _ends(impatient.url, slow)
    whole = httpx.get(f"{impatient.url}{path}", headers={"Accept-Encoding": "identity"}, timeout=30)
    assert len(whole.content) == int(whole.headers["Content-Length"])


def _ends(url: str, slow: socket.socket) -> bool:
    """Reads only after the server had enough: what the system holds arrives, but not the rest."""
    threading.Event().wait(4)
    slow.settimeout(10)
    taken = 0
    try:
        while piece := slow.recv(MIB):
            taken += len(piece)
    except OSError:
        return True
    return taken < LARGE
