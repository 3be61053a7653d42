"""Sending files to a server from anybody's machine: resumable, so that a dropped connection or a
restarted server costs a moment and not the upload."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx

from inductorscope.cli.run_name import name_of
from inductorscope.formats.units import MIB

CHUNK = 8 * MIB
PATIENCE_SECONDS = float(os.environ.get("INDUCTORSCOPE_PATIENCE_SECONDS", "60"))
"""How long a server may be away before we give up."""
AWAY = (429, 502, 503, 504)
"""What a server answers, or a proxy for it, that will be well again in a moment."""

Progress = Callable[[str, int, int], None]


class ServerError(Exception):
    """The server refused, or could not be reached; the message is for a person."""


@dataclass(frozen=True)
class Pushed:
    """What became of an upload."""

    job: str
    state: str
    run: str | None
    duplicate: bool
    message: str | None


@dataclass(frozen=True)
class LocalFile:
    path: Path
    name: str
    size: int


def files_of(paths: list[Path]) -> list[LocalFile]:
    """The files to send: each path, folders walked, named from the folder down."""
    found = []
    for top in paths:
        if top.is_dir():
            for file in sorted(top.rglob("*")):
                if file.is_file() and not file.is_symlink():
                    name = f"{top.resolve().name}/{file.relative_to(top).as_posix()}"
                    found.append(LocalFile(file, name, file.stat().st_size))
        else:
            found.append(LocalFile(top, top.name, top.stat().st_size))
    return found


class Client:
    """One server, spoken to over its public API."""

    def __init__(self, server: str, token: str = "") -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._http = httpx.Client(base_url=server.rstrip("/"), headers=headers, timeout=60.0)

    def push(self, paths: list[Path], name: str | None, tags: list[str], tell: Progress) -> Pushed:
        """Upload, then wait until the server has read everything."""
        files = files_of(paths)
        if not files:
            raise ServerError(f"There is no file in {', '.join(map(str, paths))}.")
        wanted = {
            "name": name or name_of(paths),
            "tags": tags,
            "files": [{"path": file.name, "size": file.size} for file in files],
        }
        upload = self._send("POST", "/api/uploads", json=wanted).json()
        total = sum(file.size for file in files)
        sent = 0
        for entry in upload["files"]:
            file = files[entry["index"]]
            self._send_file(upload["id"], entry["index"], file, sent, total, tell)
            sent += file.size
        job = self._send("POST", f"/api/uploads/{upload['id']}/finish").json()["job"]
        return self._wait(str(job), tell)

    def delete(self, run: str) -> None:
        """Takes a run away; one that is gone already is no trouble."""
        self._send("DELETE", f"/api/runs/{run}", accept=(204, 404))

    def _send_file(
        self, upload: str, index: int, file: LocalFile, before: int, total: int, tell: Progress
    ) -> None:
        url = f"/api/uploads/{upload}/files/{index}"
        offset = 0
        with file.path.open("rb") as stream:
            while offset < file.size:
                stream.seek(offset)
                chunk = stream.read(CHUNK)
                if not chunk:
                    raise ServerError(
                        f"{file.path} became shorter than its {file.size:,} bytes while it was "
                        "being sent. Push again when nothing writes to it any more."
                    )
                answer = self._send(
                    "PATCH",
                    url,
                    content=chunk,
                    headers={"Upload-Offset": str(offset)},
                    accept=(204, 409),
                )
                offset = int(answer.headers["Upload-Offset"])
                tell(f"Sending {file.name}", before + offset, total)

    def _wait(self, job: str, tell: Progress) -> Pushed:
        while True:
            page = self._send("GET", f"/api/jobs/{job}").json()
            row = page.get("job", page)
            tell(row["step"], row["done"] or 0, row["total"] or 0)
            if row["state"] in ("done", "failed", "cancelled"):
                return Pushed(job, row["state"], row["run_id"], row["duplicate"], row["message"])
            time.sleep(0.3)

    def _send(
        self,
        method: str,
        url: str,
        *,
        json: object = None,
        content: bytes | None = None,
        headers: dict[str, str] | None = None,
        accept: tuple[int, ...] = (200, 201, 202, 204),
    ) -> httpx.Response:
        """One request, tried again while the server is away."""
        for wait in _waits():
            try:
                answer = self._http.request(
                    method, url, json=json, content=content, headers=headers
                )
            except httpx.TransportError as error:
                if wait is None:
                    raise ServerError(
                        f"{self._http.base_url} did not answer for {PATIENCE_SECONDS:.0f} s: "
                        f"{error}. Is the server running, and is the address right?"
                    ) from error
                time.sleep(wait)
                continue
            if answer.status_code in accept:
                return answer
            if answer.status_code in AWAY and wait is not None:
                time.sleep(wait)
                continue
            raise ServerError(_sentence(answer))
        raise AssertionError("the last wait is None, which returns or raises")


def _waits() -> Iterator[float | None]:
    """Pauses between tries, growing, and None for the last try."""
    spent, wait = 0.0, 0.2
    while spent < PATIENCE_SECONDS:
        yield wait
        spent += wait
        wait = min(wait * 1.6, 5.0)
    yield None


def _sentence(answer: httpx.Response) -> str:
    try:
        error = answer.json()["error"]
        return " ".join(str(error[key]) for key in ("what", "do") if error.get(key))
    except (ValueError, KeyError, TypeError):
        return f"The server answered {answer.status_code} {answer.reason_phrase}."
