"""The address of the server that runs on a data folder, for the links that commands print."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from inductorscope.jobs.queue.answering import answers
from inductorscope.settings import Settings, load

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
