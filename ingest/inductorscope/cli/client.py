"""Sends files to a server from any machine. An upload resumes after a dropped connection or a
restart of the server."""

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from inductorscope.cli.run_name import name_of
from inductorscope.errors import SERVER, InWords
from inductorscope.formats.sizes import MIB

CHUNK = 8 * MIB
PATIENCE_SECONDS = float(os.environ.get("INDUCTORSCOPE_PATIENCE_SECONDS", "60"))
"""How long a server may be unavailable before the client gives up."""
UNAVAILABLE = (429, 502, 503, 504)
"""Status codes of a server or proxy that is unavailable for a moment."""

Progress = Callable[[str, int, int], None]


class ServerError(InWords):
    """The server refused, or could not be reached. The message is for the user."""

    exit_code = SERVER


@dataclass(frozen=True)
class Pushed:
    """The outcome of an upload."""

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
    """Lists the files to send, those of folders included, named relative to the folder's parent."""
    files = []
    for top in paths:
        if top.is_dir():
            for file in sorted(top.rglob("*")):
                if file.is_file() and not file.is_symlink():
                    name = f"{top.resolve().name}/{file.relative_to(top).as_posix()}"
                    files.append(LocalFile(file, name, file.stat().st_size))
        else:
            files.append(LocalFile(top, top.name, top.stat().st_size))
    return files


class Client:
    """A client of one server's public API."""

    def __init__(self, server: str, token: str = "", project: str = "") -> None:
        """`project`: where runs go, instead of to the token's person alone."""
        if not server.startswith(("http://", "https://")):
            raise ServerError(f"{server} is no address of a server; is it http://{server}?")
        self._project = project
        headers = {b"Authorization": f"Bearer {token}".encode()} if token else {}
        self._http = httpx.Client(base_url=server.rstrip("/"), headers=headers, timeout=60.0)

    def push(
        self, paths: list[Path], name: str | None, tags: list[str], progress: Progress
    ) -> Pushed:
        """Uploads the files and waits until the server has read them."""
        files = files_of(paths)
        if not files:
            raise ServerError(f"{', '.join(map(str, paths))}: no files to send.")
        wanted = {
            "name": name or name_of(paths),
            "tags": tags,
            "files": [{"path": file.name, "size": file.size} for file in files],
            **({"project": self._project} if self._project else {}),
        }
        upload = self._send("POST", "/api/uploads", json=wanted).json()
        total = sum(file.size for file in files)
        sent = 0
        for entry in upload["files"]:
            file = files[entry["index"]]
            self._send_file(upload["id"], entry["index"], file, sent, total, progress)
            sent += file.size
        job = self._send("POST", f"/api/uploads/{upload['id']}/finish").json()["job"]
        return self._wait(str(job), progress)

    def newest(self, query: str, name: str) -> str:
        """Returns the newest run of a history; of this name, unless the query has one."""
        wanted = httpx.QueryParams({"name": name, "figure": "graphs"}).merge(query)
        runs = self._send("GET", f"/api/history?{wanted}").json()["runs"]
        if not runs:
            raise ServerError(f"No run has the name {wanted['name']} there.")
        return str(runs[-1]["id"])

    def lock(self, run: str) -> str:
        """Returns a run as a lock."""
        return self._send("GET", f"/api/runs/{run}/inductor.lock").text

    def delete(self, run: str) -> None:
        """Deletes a run, if it still exists."""
        self._send("DELETE", f"/api/runs/{run}", accept=(204, 404))

    def _send_file(
        self, upload: str, index: int, file: LocalFile, before: int, total: int, progress: Progress
    ) -> None:
        url = f"/api/uploads/{upload}/files/{index}"
        offset = 0
        with file.path.open("rb") as stream:
            while offset < file.size:
                stream.seek(offset)
                chunk = stream.read(CHUNK)
                if not chunk:
                    raise ServerError(
                        f"{file.path} became shorter than its {file.size:,} bytes during the "
                        "upload. Push again when no program writes to it."
                    )
                answer = self._send(
                    "PATCH",
                    url,
                    content=chunk,
                    headers={"Upload-Offset": str(offset)},
                    accept=(204, 409),
                )
                offset = int(answer.headers["Upload-Offset"])
                progress(f"Sending {file.name}", before + offset, total)

    def _wait(self, job: str, progress: Progress) -> Pushed:
        while True:
            page = self._send("GET", f"/api/jobs/{job}").json()
            row = page.get("job", page)
            progress(row["step"], row["done"] or 0, row["total"] or 0)
            if row["state"] in ("done", "failed", "cancelled"):
                return Pushed(job, row["state"], row["run_id"], row["duplicate"], row["message"])
            time.sleep(0.3)

    def _send(
        self,
        method: str,
        url: str,
        *,
        accept: tuple[int, ...] = (200, 201, 202, 204),
        **given: Any,  # noqa: ANN401  # httpx's own options
    ) -> httpx.Response:
        """Sends one request, and retries while the server is unavailable."""
        spent, wait = 0.0, 0.2
        while True:
            try:
                answer = self._http.request(method, url, **given)
            except httpx.TransportError as error:
                if spent >= PATIENCE_SECONDS:
                    raise ServerError(
                        f"{self._http.base_url} did not answer for {PATIENCE_SECONDS:.0f} s: "
                        f"{error}. Is the server running, and is the address right?"
                    ) from error
                if not spent and sys.stderr.isatty():
                    print(f"No answer yet: trying for {PATIENCE_SECONDS:.0f} s.", file=sys.stderr)
            else:
                if answer.status_code in accept:
                    return answer
                if answer.status_code not in UNAVAILABLE or spent >= PATIENCE_SECONDS:
                    raise ServerError(_sentence(answer))
            time.sleep(wait)
            spent, wait = spent + wait, min(wait * 1.6, 5.0)


def _sentence(answer: httpx.Response) -> str:
    if answer.status_code == 401:
        server = f"{answer.url.scheme}://{answer.url.netloc.decode()}"
        if "Authorization" in answer.request.headers:
            return f"{server} does not know this token. Check --token or INDUCTORSCOPE_TOKEN."
        return f"{server} needs a token: give --token, or set INDUCTORSCOPE_TOKEN."
    try:
        error = answer.json()["error"]
        return " ".join(str(error[key]) for key in ("what", "do") if error.get(key))
    except (ValueError, KeyError, TypeError):
        return f"The server answered {answer.status_code} {answer.reason_phrase}."
