"""Starting the real thing for a test: `inductorscope serve` as a process of its own."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx

START_SECONDS = 60.0


@dataclass
class Served:
    """A running server: where it answers, what it wrote, and its process."""

    url: str
    data: Path
    process: subprocess.Popen[bytes]
    log: Path
    database_url: str = ""
    """Empty for SQLite in the data folder."""

    def said(self) -> str:
        return self.log.read_text(errors="replace")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def serve(
    data: Path,
    *options: str,
    env: dict[str, str] | None = None,
    python: str = sys.executable,
    log: Path | None = None,
) -> Iterator[Served]:
    """`inductorscope serve` on a free port until the block ends; then it must stop in order.

    What it writes goes to `log`, by default in the data folder.
    """
    port = free_port()
    data.mkdir(parents=True, exist_ok=True)
    log = log or data / "serve.log"
    command = [python, "-m", "inductorscope", "serve", "--data", str(data)]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "--port", str(port), *options],
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(env or {})},
            start_new_session=True,
        )
    database_url = (env or {}).get("INDUCTORSCOPE_DATABASE_URL", "")
    served = Served(f"http://127.0.0.1:{port}", data, process, log, database_url)
    try:
        _wait_until_up(served)
        yield served
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _wait_until_up(served: Served) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        if served.process.poll() is not None:
            raise AssertionError(f"the server stopped:\n{served.said()}")
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(f"{served.url}/healthz", timeout=5).status_code == 200:
                return
        time.sleep(0.1)
    raise AssertionError(f"the server did not answer in {START_SECONDS:.0f} s:\n{served.said()}")
