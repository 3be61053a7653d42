"""What attacks share: raw sockets, a watch on the server's health, and figures of its process."""

import contextlib
import socket
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import httpx
from inductorscope.cli.client import Client
from inductorscope.formats.sizes import MIB

from tests.support.places import FIXTURES
from tests.support.sending import variant

ANSWER_SECONDS = 15
"""Half of what the supervisor gives the web process. The second that is promised is measured by
`all_at_once`: beside other tests most of an answer's time is waiting for a core."""
HEALTH_SECONDS = 60.0
"""An answer that takes longer counts as so long."""


def connect(url: str, receive_bytes: int | None = None, source: str = "") -> socket.socket:
    """Opens a connection; `receive_bytes` limits what the system takes in for a slow reader."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    opened = socket.socket()
    opened.settimeout(30)
    if receive_bytes is not None:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    if source:
        opened.bind((source, 0))
    opened.connect((parts.hostname, parts.port or 80))
    return opened


def head(url: str, method: str, path: str, token: str = "", **headers: str) -> bytes:
    """The head of a request as it goes over the wire."""
    sent = {"Host": urlsplit(url).netloc, **headers}
    if token:
        sent["Authorization"] = f"Bearer {token}"
    fields = [f"{name.replace('_', '-')}: {value}" for name, value in sent.items()]
    return "\r\n".join([f"{method} {path} HTTP/1.1", *fields, "", ""]).encode()


def is_closed(connection: socket.socket, seconds: float = 0.0) -> bool:
    """Whether the server ended the connection, now or within some seconds; reads nothing else."""
    until = time.monotonic() + seconds
    connection.setblocking(False)
    while True:
        try:
            if connection.recv(1) == b"":
                return True
        except BlockingIOError:
            pass
        except OSError:
            return True
        if time.monotonic() >= until:
            return False
        time.sleep(0.05)


def close(connections: list[socket.socket]) -> None:
    for connection in connections:
        connection.close()
    connections.clear()


class Health:
    """Asks `/healthz` all the time, over a new connection each, and keeps how long answers take.

    A context manager.
    """

    def __init__(self, url: str, pause: float = 0.2, source: str = "") -> None:
        self.seconds: list[float] = []
        self.failures = 0
        self._url = url
        self._pause = pause
        self._source = source
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    @property
    def slowest(self) -> float:
        return max(self.seconds, default=0.0)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.is_set():
            begun = time.monotonic()
            try:
                with connect(self._url, source=self._source) as connection:
                    connection.settimeout(HEALTH_SECONDS)
                    connection.sendall(head(self._url, "GET", "/healthz"))
                    failed = not connection.recv(100).startswith(b"HTTP/1.1 200")
            except OSError:
                failed = True
            self.failures += failed
            self.seconds.append(time.monotonic() - begun)
            self._stop.wait(self._pause)


def a_large_file(url: str, token: str, size: int = 24 * MIB) -> str:
    """Uploads a run with a large file; the path of the file's bytes on the server."""
    with tempfile.TemporaryDirectory() as folder:
        source = variant(FIXTURES / "cuda-foo1", Path(folder), 0, padding=size)
        pushed = Client(url, token).push([source], "large", [], lambda *_: None)
    return largest_file(url, str(pushed.run), token)


def largest_file(url: str, run: str, token: str = "") -> str:
    """The path of the bytes of a run's largest file on the server."""
    page = httpx.get(f"{url}/api/runs/{run}/read", headers=bearer(token), timeout=60)
    files = page.raise_for_status().json()["files"]
    largest = max(files, key=lambda file: int(file["size"]))
    return f"/api/artifacts/{largest['artifact']}/raw"


def an_upload(url: str, token: str, size: int = MIB) -> str:
    """Announces an upload of one file; the path to send its bytes to."""
    asked = {"files": [{"path": "a.log", "size": size}]}
    answer = httpx.post(f"{url}/api/uploads", json=asked, headers=bearer(token), timeout=60)
    return f"/api/uploads/{answer.raise_for_status().json()['id']}/files/0"


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"} if token else {}


# --- the web process ---


def web_process(supervisor: int) -> int | None:
    """The id of the web process that a supervisor keeps, if it runs at the moment."""
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{supervisor}/task").iterdir():
            for child in (task / "children").read_text().split():
                if b"inductorscope_server" in Path(f"/proc/{child}/cmdline").read_bytes():
                    return int(child)
    return None


def forget_peak(pid: int) -> None:
    """The most bytes that a process had in memory counts from here."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def peak_memory(pid: int) -> int:
    """The most bytes that a process had in memory so far; 0 if it is gone."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0


# --- figures ---


def percentile(seconds: list[float], share: int) -> float:
    """The value that `share` % of the values do not exceed."""
    if len(seconds) < 2:
        return max(seconds, default=0.0)
    return statistics.quantiles(seconds, n=100, method="inclusive")[share - 1]


Attack = Callable[[str, str, threading.Event], None]
"""Goes on until the event is set; takes the server's address and token."""


@contextlib.contextmanager
def attacked(attack: Attack, url: str, token: str = "") -> Iterator[threading.Event]:
    """Runs an attack in a thread until the block ends."""
    stop = threading.Event()
    thread = threading.Thread(target=attack, args=(url, token, stop), daemon=True)
    thread.start()
    try:
        yield stop
    finally:
        stop.set()
        thread.join(30)
