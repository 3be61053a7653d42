"""Small uploads that unpack to hundreds of MB: they hold up others for a turn, no longer.

That long jobs give way to small uploads is tested with stand-ins in `tests/jobs/test_worker.py`.
"""

import contextlib
import tempfile
import threading
import time
import zipfile
from pathlib import Path

import httpx

from tests.support.attacking import bearer
from tests.support.places import FIXTURES

UNPACKED = 600_000_000
SENT_AT_ONCE = 3


def attack(url: str, token: str, stop: threading.Event) -> None:
    """Keeps three of them waiting."""
    jobs: list[str] = []
    number = 0
    with (
        tempfile.TemporaryDirectory() as folder,
        httpx.Client(base_url=url, headers=bearer(token), timeout=60) as client,
    ):
        while not stop.is_set():
            with contextlib.suppress(httpx.HTTPError, KeyError):
                jobs = [job for job in jobs if is_active(client, job)]
                while len(jobs) < SENT_AT_ONCE and not stop.is_set():
                    number += 1
                    jobs.append(send(client, bomb(Path(folder), number)))
            stop.wait(1)


def bomb(folder: Path, number: int) -> Path:
    """A zip of a log that is a log of torch over and over again: 30 MB that unpack to 600."""
    log = next((FIXTURES / "cuda-foo1" / "torch_trace").iterdir()).read_bytes()
    block = log + b"x" * 200_000 + b"\n"
    path = folder / f"bomb-{number}.zip"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed,
        packed.open(f"dedicated_log_torch_trace_{number}.log", "w", force_zip64=True) as file,
    ):
        file.write(f"{number} {time.time()}\n".encode())
        for _ in range(UNPACKED // len(block)):
            file.write(block)
    return path


def send(client: httpx.Client, path: Path) -> str:
    asked = {"files": [{"path": path.name, "size": path.stat().st_size}]}
    upload = client.post("/api/uploads", json=asked).raise_for_status().json()["id"]
    where = f"/api/uploads/{upload}"
    headers = {"Upload-Offset": "0"}
    client.patch(f"{where}/files/0", content=path.read_bytes(), headers=headers).raise_for_status()
    return str(client.post(f"{where}/finish").raise_for_status().json()["job"])


def is_active(client: httpx.Client, job: str) -> bool:
    return bool(client.get(f"/api/jobs/{job}").raise_for_status().json()["job"]["active"])
