"""Downloads let go of their content as soon as their client is gone."""

import asyncio
from collections.abc import Generator

from inductorscope_server.serving.downloads import Download, Downloads
from starlette.applications import Starlette
from starlette.types import Message, Scope

from tests.support.running import run_alone


class _Parts:
    downloads = Downloads()


def test_the_content_of_a_client_that_is_gone_is_closed_at_once() -> None:
    closed = []

    def pieces() -> Generator[bytes]:
        try:
            while True:
                yield b"piece"
        finally:
            closed.append(True)

    taken = asyncio.Event()

    async def receive() -> Message:
        await taken.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.body":
            taken.set()

    app = Starlette()
    app.state.parts = _Parts()
    scope: Scope = {"type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, "app": app}
    download = Download(pieces(), {})
    run_alone(download(scope, receive, send))
    assert closed
