"""Slows down guessing of the token.

A client may send a few wrong tokens. After that its tokens are checked one by one at a fixed rate,
as are those of all such clients together. A client without recent wrong tokens never waits, and a
browser that is logged in is not affected: its cookie cannot be guessed.
"""

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
"""Wrong tokens of a client that are answered at once, and the seconds after which one of them stops
counting."""
FREE_OF_ALL, EVERY_SECONDS_OF_ALL = 200, 0.05
"""The same for all clients together."""
LONGEST_WAIT_SECONDS = 15.0
"""Clients that would wait longer are refused without a check."""
REMEMBERED_SECONDS = 600.0
"""How long after its last wrong token a client's tokens wait their turn."""
MOST_CLIENTS = 10_000
PASSWORDS = 2
"""Passwords checked at the same time: each takes 32 MiB of memory."""

Found = TypeVar("Found")

log = logging.getLogger(__name__)


class Attempts:
    """Counts recent wrong tokens, by client. Used from the event loop only."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.passwords = CapacityLimiter(PASSWORDS)
        # When all wrong tokens of a client stop counting, and when those of all clients do.
        self._paid: TTLCache[str, float] = TTLCache(MOST_CLIENTS, REMEMBERED_SECONDS, clock)
        self._all_paid = -math.inf

    async def check(self, find: Callable[[], Awaitable[Found | None]]) -> Found | None:
        """Looks up a token or password once it is the client's turn; returns None for a wrong one.
        Raises Refusal if the wait is too long."""
        client = SENDER.get()
        wait = self.wait(client)
        if wait:
            await asyncio.sleep(wait)
        found = await find()
        if found is not None:
            return found
        if not wait:  # clients that waited were counted when the wait began
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
