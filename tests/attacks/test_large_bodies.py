"""Bodies of megabytes, and small files that unpack to large ones."""

from __future__ import annotations

import contextlib
import tempfile
import threading
import zipfile
from pathlib import Path

import httpx
import pytest
from inductorscope.cli.client import Client
from inductorscope.formats.sizes import MIB

from tests.support.attacking import ANSWER_SECONDS, Health, bearer, peak_memory, web_process
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
            lines = b"".join(b"a line of a long text, %06d\n" % number for number in range(40_000))
            for _ in range(size // len(lines)):
                long.write(lines)
    pushed = Client(url, token).push([packed], "long", [], lambda *_: None)
    page = httpx.get(f"{url}/api/runs/{pushed.run}/read", headers=bearer(token), timeout=60)
    files = page.raise_for_status().json()["files"]
    largest = max(files, key=lambda each: int(each["size"]))
    return f"/api/artifacts/{largest['artifact']}/text?first=1"


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


def test_bodies_of_megabytes_cost_little(working: Served) -> None:
    web = web_process(working.process.pid)
    assert web is not None
    with httpx.Client(base_url=working.url, timeout=60) as client, Health(working.url) as health:
        for body in BODIES.values():
            assert announce(client, body) == 422
        assert client.post("/api/captures", content=b"x" * MIB).status_code == 413
    assert health.slowest < ANSWER_SECONDS
    assert peak_memory(web) < 250 * MIB


def test_lines_of_an_unpacked_file_come_in_pieces(working: Served, tmp_path: Path) -> None:
    path = unpacked_file(working.url, "", tmp_path)
    web = web_process(working.process.pid)
    assert web is not None
    with (
        Health(working.url) as health,
        httpx.stream(
            "GET", f"{working.url}{path}", headers={"Accept-Encoding": "identity"}, timeout=60
        ) as answer,
    ):
        assert sum(len(piece) for piece in answer.iter_raw()) > UNPACKED * 0.99
    assert health.slowest < ANSWER_SECONDS
    assert peak_memory(web) < 250 * MIB
