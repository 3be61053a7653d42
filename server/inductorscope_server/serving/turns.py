"""Takes requests in turn: few at a time, and of one client not so many that others wait for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

AT_ONCE = 16
"""Requests worked on at a time, each in a thread and with one or two database connections."""
OF_ONE_CLIENT = 8
MOST_WAITING = 150
"""Requests of one client that wait: more than the browsers of twenty people send at once."""


class TooManyWaiting(Exception):
    """The client has more requests waiting than the server keeps."""


class Turns:
    """Gives turns to requests, first come, first served."""

    def __init__(self) -> None:
        self._all = asyncio.Semaphore(AT_ONCE)
        self._clients: dict[str, _Client] = {}

    @asynccontextmanager
    async def turn(self, client: str) -> AsyncIterator[None]:
        """Waits for a turn and holds it. Raises TooManyWaiting."""
        own = self._clients.setdefault(client, _Client())
        if own.requests >= OF_ONE_CLIENT + MOST_WAITING:
            raise TooManyWaiting
        own.requests += 1
        try:
            # Its own turn first, so that no client has more than its share in the common queue.
            async with own.turns, self._all:
                yield
        finally:
            own.requests -= 1
            if not own.requests:
                del self._clients[client]


class _Client:
    def __init__(self) -> None:
        self.requests = 0
        self.turns = asyncio.Semaphore(OF_ONE_CLIENT)
