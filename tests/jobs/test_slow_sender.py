"""A log that comes slowly, to a real server, which serves others meanwhile."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from inductorscope.cli.client import Client, Pushed
from inductorscope.formats.sizes import MIB

from tests.support.serving import Served

PIECE = 64 * 1024
SECONDS = 60
RECORD = b'V1121 01:25:55.678000 419 a.py:1] {"artifact": {"name": "x"}, "has_payload": "0"}\n'
LONG = RECORD + (b"\t" + b"a" * 98 + b"\n") * (5 * MIB // 100)
"""A record that takes long to send, and little to read."""


@pytest.fixture(scope="module")
def once(fixtures: Path) -> bytes:
    (found,) = (fixtures / "cuda-foo1" / "torch_trace").iterdir()
    return found.read_bytes()


class Sender:
    """Sends a log in one request, slowly, until it is asked to hurry."""

    def __init__(self, server: Served, log: bytes) -> None:
        self.client = httpx.Client(base_url=server.url, timeout=SECONDS)
        self.log = log
        asked = {"files": [{"path": "slow.log", "size": len(log)}]}
        answer = self.client.post("/api/uploads", json=asked).raise_for_status()
        self.upload = str(answer.json()["id"])
        self.slowly_sent = 0

    def send(self, enough: Callable[[], bool]) -> None:
        self.client.patch(
            f"/api/uploads/{self.upload}/files/0",
            content=self._pieces(enough),
            headers={"Upload-Offset": "0"},
        ).raise_for_status()

    def _pieces(self, enough: Callable[[], bool]) -> Iterator[bytes]:
        until = time.monotonic() + SECONDS
        slowly = True
        for start in range(0, len(self.log), PIECE):
            yield self.log[start : start + PIECE]
            if slowly and start + 2 * PIECE < len(self.log):
                time.sleep(0.06)
                slowly = not enough()
                self.slowly_sent = start + PIECE
            assert time.monotonic() < until
        assert not slowly, "all was sent before anything was seen of it"

    def finish(self) -> dict[str, object]:
        job = self.client.post(f"/api/uploads/{self.upload}/finish").raise_for_status().json()
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            row = self.client.get(f"/api/jobs/{job['job']}").raise_for_status().json()["job"]
            if row["state"] in {"done", "failed"}:
                return dict(row)
            time.sleep(0.1)
        raise AssertionError("the job did not end")


def push(server: Served, path: Path) -> Pushed:
    return Client(server.url).push([path], None, [], lambda step, done, total: None)


def test_bytes_are_kept_as_they_come_and_others_are_not_kept_waiting(
    server: Served, once: bytes, tmp_path: Path
) -> None:
    other = tmp_path / "other.log"
    other.write_bytes(once * 2)
    assert "Read 2 graphs with 2 generated kernels, " in str(push(server, other).message)

    sender = Sender(server, once * 3 + LONG)
    sender.send(lambda: _has_come(sender) > 0)  # while the request is under way
    assert sender.slowly_sent < MIB  # which would be written anyway
    assert "Read 3 graphs with 3 generated kernels, " in str(sender.finish()["message"])


def _has_come(sender: Sender) -> int:
    state = httpx.get(f"{sender.client.base_url}/api/uploads/{sender.upload}", timeout=30).json()
    return int(state["files"][0]["received"])
