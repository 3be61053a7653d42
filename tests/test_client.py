"""Pushing when things go wrong: against a server that answers as it is told, over real HTTP."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import inductorscope.cli.client
import pytest
from inductorscope.cli.client import Client, ServerError


class Server(ThreadingHTTPServer):
    """Takes one file; the first answers to each kind of request are `trouble`."""

    trouble: tuple[int, ...] = ()
    url: str
    received = b""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.asked: dict[str, int] = {}


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if not self._in_trouble():
            files = [{"index": 0, "received": 0}]
            self._answer(200, {"id": "u", "files": files, "job": "j"})

    def do_PATCH(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        if not self._in_trouble():
            self.server.received += data
            self._answer(204, None, len(self.server.received))

    def do_GET(self) -> None:
        if not self._in_trouble():
            row = {"step": "Done", "done": 1, "total": 1, "state": "done"}
            self._answer(200, row | {"run_id": "r", "duplicate": False, "message": None})

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""

    def _in_trouble(self) -> bool:
        key = f"{self.command} {self.path}"
        number = self.server.asked[key] = self.server.asked.get(key, 0) + 1
        if number > len(self.server.trouble):
            return False
        what = {"error": {"what": f"Trouble {number}."}}
        self._answer(self.server.trouble[number - 1], what)
        return True

    def _answer(self, status: int, body: object, offset: int = 0) -> None:
        content = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Upload-Offset", str(offset))
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.01,))
        thread.start()
        yield made
        made.shutdown()
        thread.join()


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(inductorscope.cli.client, "CHUNK", 4)
    monkeypatch.setattr(inductorscope.cli.client, "PATIENCE_SECONDS", 0.5)
    path = tmp_path / "a.log"
    path.write_bytes(b"0123456789")
    return path


def test_a_server_that_is_away_for_a_moment_is_asked_again(server: Server, file: Path) -> None:
    server.trouble = (503, 429)
    pushed = Client(server.url).push([file], None, [], lambda *_: None)
    assert (pushed.state, server.received) == ("done", b"0123456789")


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_patience_ends_in_what_the_server_says(server: Server, file: Path, status: int) -> None:
    server.trouble = (status,) * 99
    with pytest.raises(ServerError, match=r"Trouble \d"):
        Client(server.url).push([file], None, [], lambda *_: None)
    assert server.asked["POST /api/uploads"] >= 3


def test_a_refusal_is_final(server: Server, file: Path) -> None:
    server.trouble = (422,)
    with pytest.raises(ServerError, match=r"^Trouble 1\.$"):
        Client(server.url).push([file], None, [], lambda *_: None)


def test_a_missing_token_is_asked_for_by_its_option(server: Server, file: Path) -> None:
    server.trouble = (401,)
    with pytest.raises(ServerError, match=r"needs a token: give --token, or set INDUCTORSCOPE_TOK"):
        Client(server.url).push([file], None, [], lambda *_: None)


def test_a_file_that_becomes_shorter_is_told_and_not_sent_for_ever(
    server: Server, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shorten(*_: object) -> None:
        file.write_bytes(bytes(100_000))

    monkeypatch.setattr(inductorscope.cli.client, "CHUNK", 65_536)
    file.write_bytes(bytes(300_000))

    with pytest.raises(ServerError, match="became shorter than its 300,000 bytes"):
        Client(server.url).push([file], None, [], shorten)
