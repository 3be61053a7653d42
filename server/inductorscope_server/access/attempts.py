"""Slows down guessing of the token.

A client may send a few wrong tokens. After that its tokens are checked in turn at a fixed rate, and
so are those of all such clients together. A client without recent wrong tokens never waits, and a
browser that is logged in is not affected: its cookie cannot be guessed.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from anyio import CapacityLimiter
from cachetools import TTLCache
from inductorscope.jobs.sender import SENDER

from inductorscope_server.web.errors import Refusal

FREE, EVERY_SECONDS = 20, 0.5
"""Wrong tokens of a client that are answered at once, and the time in which one is paid for."""
FREE_OF_ALL, EVERY_SECONDS_OF_ALL = 200, 0.05
"""The same for all clients together."""
LONGEST_WAIT_SECONDS = 15.0
"""Clients that would wait longer are refused without a check."""
REMEMBERED_SECONDS = 600.0
"""Time after its last wrong token in which a client waits for other such clients."""
MOST_CLIENTS = 10_000
PASSWORDS = 2
"""Passwords checked at the same time: each takes 32 MiB of memory."""

Found = TypeVar("Found")

log = logging.getLogger(__name__)


class Attempts:
    """Wrong tokens of late, by client. Used from the event loop only."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.passwords = CapacityLimiter(PASSWORDS)
        # When all wrong tokens of a client will be paid for, and of all clients.
        self._paid: TTLCache[str, float] = TTLCache(MOST_CLIENTS, REMEMBERED_SECONDS, clock)
        self._all_paid = -math.inf

    async def check(self, find: Callable[[], Awaitable[Found | None]]) -> Found | None:
        """Finds whose token or password it is when it is the client's turn; None for a wrong one.
        Raises Refusal if that takes too long."""
        client = SENDER.get()
        wait = self.wait(client)
        if wait:
            await asyncio.sleep(wait)
        found = await find()
        if found is not None:
            return found
        if not wait:  # the others were counted when they began to wait
            self.count(client)
        log.warning("wrong token from %s", client)
        return None

    def wait(self, client: str) -> float:
        """Reserves the client's turn and returns the seconds until then."""
        now = self._clock()
        paid = self._paid.get(client)
        if paid is None:
            return 0.0
        wait = max(
            paid - now - FREE * EVERY_SECONDS,
            self._all_paid - now - FREE_OF_ALL * EVERY_SECONDS_OF_ALL,
            0.0,
        )
        if wait > LONGEST_WAIT_SECONDS:
            log.warning("too many wrong tokens from %s", client)
            raise Refusal(
                429,
                "Too many wrong tokens came from your address.",
                do="Try again in a few seconds.",
                headers={"Retry-After": str(math.ceil(wait - LONGEST_WAIT_SECONDS))},
            )
        if wait:
            self.count(client)
        return wait

    def count(self, client: str) -> None:
        """Counts a wrong token."""
        now = self._clock()
        self._paid[client] = max(now, self._paid.get(client, now)) + EVERY_SECONDS
        self._all_paid = max(now, self._all_paid) + EVERY_SECONDS_OF_ALL
