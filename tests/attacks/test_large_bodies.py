"""Bodies of megabytes, and small files that unpack to large ones."""

import contextlib
import tempfile
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

import httpx
import pytest
from inductorscope.cli.client import Client
from inductorscope.cli.local import read_paths
from inductorscope.formats.sizes import MIB
from inductorscope.progress import silent
from inductorscope.settings import Settings

from tests.support.attacking import (
    ANSWER_SECONDS,
    Health,
    bearer,
    forget_peak,
    largest_file,
    peak_memory,
    web_process,
)
from tests.support.places import FIXTURES
from tests.support.serving import Served

BODIES = {
    "numbers": b'{"files":[' + b"0," * 1_500_000 + b"0]}",
    "objects": b'{"files":[' + b"{}," * 1_500_000 + b"{}]}",
    "keys": b'{"files":[{' + b",".join(b'"%d":0' % number for number in range(300_000)) + b"}]}",
}
UNPACKED = 160 * MIB
"""More than the web process may take beside its own."""

pytestmark = pytest.mark.slow


def announce(client: httpx.Client, body: bytes) -> int:
    headers = {"Content-Type": "application/json"}
    return client.post("/api/uploads", content=body, headers=headers).status_code


def unpacked_file(url: str, token: str, folder: Path, size: int = UNPACKED) -> str:
    """Uploads a zip with a long text; the path of its lines on the server."""
    packed = folder / "long.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for file in (FIXTURES / "cuda-foo1" / "torch_compile_debug").rglob("*.py"):
            archive.write(file, str(file.relative_to(FIXTURES)))
        with archive.open("long.txt", "w") as long:
            write_lines(long, size)
    pushed = Client(url, token).push([packed], "long", [], lambda *_: None)
    return largest_file(url, str(pushed.run), token).replace("/raw", "/text?first=1")


def write_lines(file: IO[bytes], size: int) -> None:
    lines = b"".join(b"a line of a long text, %06d\n" % number for number in range(40_000))
    for _ in range(size // len(lines)):
        file.write(lines)


def attack(url: str, token: str, stop: threading.Event) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = unpacked_file(url, token, Path(folder))
    with httpx.Client(base_url=url, headers=bearer(token), timeout=120) as client:
        while not stop.is_set():
            with contextlib.suppress(httpx.TransportError):
                for body in BODIES.values():
                    announce(client, body)
                with client.stream("GET", path) as answer:
                    for _ in answer.iter_raw():
                        if stop.is_set():
                            return


@pytest.fixture
def measured(serving: Callable[[str], Served]) -> tuple[Served, int]:
    """A server, and its web process, whose peak of memory counts from here."""
    served = serving("sqlite")
    web = web_process(served.process.pid)
    assert web is not None
    forget_peak(web)
    return served, web


def test_bodies_of_megabytes_cost_little(measured: tuple[Served, int]) -> None:
    served, web = measured
    with httpx.Client(base_url=served.url, timeout=60) as client, Health(served.url) as health:
        for body in BODIES.values():
            assert announce(client, body) == 422
        assert client.post("/api/captures", content=b"x" * MIB).status_code == 413
    assert health.slowest < ANSWER_SECONDS
    assert peak_memory(web) < 250 * MIB


def test_lines_of_an_unpacked_file_come_in_pieces(
    measured: tuple[Served, int], tmp_path: Path
) -> None:
    served, web = measured
    with (tmp_path / "long.txt").open("wb") as long:
        write_lines(long, UNPACKED)
    settings = Settings(data=served.data, database_url="")
    source = [FIXTURES / "cuda-foo1" / "torch_compile_debug", tmp_path / "long.txt"]
    run = read_paths(
        settings, source, name="long", tags=[], origin="ingest", progress=silent
    ).run_id
    path = largest_file(served.url, run).replace("/raw", "/text?first=1")
    with (
        Health(served.url) as health,
        httpx.stream(
            "GET", f"{served.url}{path}", headers={"Accept-Encoding": "identity"}, timeout=60
        ) as answer,
    ):
        assert sum(len(piece) for piece in answer.iter_raw()) > UNPACKED * 0.99
    assert health.slowest < ANSWER_SECONDS
    assert peak_memory(web) < 250 * MIB
