"""The address of the server that runs on a data folder, for the links that commands print."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from inductorscope.settings import Settings, load

ANSWER_SECONDS = 3.0
QUESTION = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def answers(host: str, port: int) -> bool:
    """Returns whether the process answers at all, even to report that its database is away."""
    try:
        with socket.create_connection((host, port), ANSWER_SECONDS) as connection:
            connection.sendall(QUESTION)
            return connection.recv(len(b"HTTP/")).startswith(b"HTTP")
    except OSError:
        return False


NAME = "server"


@contextmanager
def announced(settings: Settings) -> Iterator[None]:
    """Names the server in its data folder while it runs."""
    file = settings.data / NAME
    with suppress(OSError):  # without the file, links name the usual address
        file.write_text(f"{settings.host}:{settings.port}")
    try:
        yield
    finally:
        file.unlink(missing_ok=True)


def running(settings: Settings) -> str | None:
    """Returns the address of the server that runs on this data folder; None if none answers."""
    with suppress(OSError):
        host, _, port = (settings.data / NAME).read_text().rpartition(":")
        if port.isdecimal() and answers(host, int(port)):
            return f"http://{host}:{port}"
    return None


def address(settings: Settings) -> str:
    """Returns that address, or else the one that `inductorscope serve` would have."""
    return running(settings) or f"http://{settings.host}:{settings.port}"


def to_open(settings: Settings) -> str:
    """Returns what to run before a printed address can be opened; empty if its server answers."""
    if running(settings) is not None:
        return ""
    elsewhere = "" if settings.data == load().data else f" --data {settings.data}"
    return f"To open it: inductorscope serve{elsewhere}"
