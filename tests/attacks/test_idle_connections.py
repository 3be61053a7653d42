"""Connections on which nothing comes, or too little: before any token, in heads and in bodies."""

import contextlib
import itertools
import socket
import threading
from collections.abc import Callable

import httpx
import pytest

from tests.support.attacking import ANSWER_SECONDS, Health, close, connect, head, is_closed
from tests.support.serving import Served

CONNECTIONS = 600
"""More than the attacked server may open."""

pytestmark = pytest.mark.slow

Opened = Callable[[str], socket.socket]


def silent(url: str) -> socket.socket:
    return connect(url)


def half_a_head(url: str) -> socket.socket:
    opened = connect(url)
    opened.sendall(b"GET / HTTP/1.1\r\nHost: lo")
    return opened


def half_a_body(url: str) -> socket.socket:
    opened = connect(url)
    opened.sendall(head(url, "POST", "/api/uploads", Content_Length="1000") + b"{")
    return opened


def a_body_that_nobody_wants(url: str) -> socket.socket:
    opened = connect(url)
    opened.sendall(head(url, "GET", "/healthz", Content_Length="1000"))
    opened.recv(65_536)  # all of the answer, since `is_closed` takes a byte at a time
    return opened


KINDS: tuple[Opened, ...] = (silent, half_a_head, half_a_body, a_body_that_nobody_wants)


def tiny_chunks(url: str, stop: threading.Event) -> None:
    """Sends a body whose every chunk is one byte, which costs more to read than to send."""
    with connect(url) as opened:
        opened.sendall(head(url, "POST", "/api/uploads", Transfer_Encoding="chunked"))
        while not stop.is_set():
            opened.sendall(b"1\r\n \r\n" * 10_000)


def attack(url: str, token: str, stop: threading.Event) -> None:
    """Keeps hundreds of each kind open, a byte now and then on some, and sends tiny chunks."""
    opened: list[socket.socket] = []
    kinds = itertools.cycle(KINDS)
    threading.Thread(target=_send_chunks, args=(url, stop), daemon=True).start()
    try:
        while not stop.wait(0.002):
            with contextlib.suppress(OSError):
                if len(opened) >= CONNECTIONS:
                    oldest = opened.pop(0)
                    if is_closed(oldest):
                        oldest.close()
                    else:
                        opened.append(oldest)
                        oldest.sendall(b"a")
                if len(opened) < CONNECTIONS:
                    opened.append(next(kinds)(url))
    finally:
        close(opened)


def _send_chunks(url: str, stop: threading.Event) -> None:
    while not stop.wait(0.1):
        with contextlib.suppress(OSError):
            tiny_chunks(url, stop)


def test_idle_connections_keep_nobody_out(impatient: Served) -> None:
    opened: list[socket.socket] = []
    try:
        with Health(impatient.url) as health:
            for kind, _ in zip(itertools.cycle(KINDS), range(CONNECTIONS), strict=False):
                with contextlib.suppress(OSError):
                    opened.append(kind(impatient.url))
            assert httpx.get(impatient.url, timeout=20).status_code == 200
        assert not health.failures
        assert health.slowest < ANSWER_SECONDS
    finally:
        close(opened)
    assert impatient.said().count("\n") < 100


def test_a_connection_that_waits_for_its_client_is_ended(impatient: Served) -> None:
    opened = [kind(impatient.url) for kind in KINDS]
    try:
        while opened:
            for connection in opened:
                with contextlib.suppress(OSError):
                    connection.sendall(b"a")  # a byte now and then is not enough
            # The time limit of the test ends this.
            opened = [connection for connection in opened if not is_closed(connection, 0.1)]
    finally:
        close(opened)


def test_a_body_of_tiny_chunks_holds_up_nobody(impatient: Served) -> None:
    stop = threading.Event()
    threads = [
        threading.Thread(target=_send_chunks, args=(impatient.url, stop), daemon=True)
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    with Health(impatient.url) as health:
        stop.wait(2)
    stop.set()
    assert not health.failures
    assert health.slowest < ANSWER_SECONDS
