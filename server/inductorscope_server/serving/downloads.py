"""Sends large contents to clients: few at a time, because each takes memory until its client has
read it, and with few threads, because each piece takes memory while it is read."""

from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing, closing

import anyio
from inductorscope.jobs.sender import SENDER
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from inductorscope_server.serving.turns import Turns

AT_ONCE = 16
OF_ONE = 8
"""Downloads of one sender at a time."""
THREADS = 2


class Downloads:
    """The downloads of the process."""

    def __init__(self) -> None:
        self.turns = Turns(AT_ONCE, OF_ONE)
        self.threads = anyio.CapacityLimiter(THREADS)


class Download(StreamingResponse):
    """A content that is sent in pieces, once it is its sender's turn."""

    def __init__(self, pieces: Generator[bytes], headers: dict[str, str]) -> None:
        super().__init__(pieces, headers=headers)
        self._pieces = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        downloads: Downloads = scope["app"].state.parts.downloads
        # Closed at once: if the client is gone, megabytes would stay in memory until a rare garbage
        # collection.
        with closing(self._pieces):
            async with (
                aclosing(self._read(downloads.threads)) as self.body_iterator,
                downloads.turns.turn(SENDER.get()),
            ):
                await super().__call__(scope, receive, send)

    async def _read(self, threads: anyio.CapacityLimiter) -> AsyncGenerator[bytes]:
        while True:
            piece = await anyio.to_thread.run_sync(next, self._pieces, None, limiter=threads)
            if piece is None:
                return
            yield piece
