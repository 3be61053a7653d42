"""Handles requests in turn: few at a time, and only some of one sender, so that others do not wait
for it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from inductorscope.jobs.sender import SENDER
from inductorscope.store.who import VIEWER

AT_ONCE = 16
"""Requests handled at a time, each in a thread and with one or two database connections."""
OF_ONE = 8
"""Requests of one sender handled at a time."""
MOST_WAITING = 150
"""Requests of one sender that wait: more than the browsers of twenty people send at once."""


def whose_turn() -> str:
    """Returns who waits: the person of this request, or whoever sends from its address."""
    who = VIEWER.get()
    return SENDER.get() if who is None or who.person is None else f"person {who.person}"


class TooManyWaiting(Exception):
    """The sender has more requests waiting than the server keeps."""


class Turns:
    """Gives turns to requests, first come, first served."""

    def __init__(
        self, at_once: int = AT_ONCE, of_one: int = OF_ONE, waiting: int = MOST_WAITING
    ) -> None:
        self._all = asyncio.Semaphore(at_once)
        self._of_one = of_one
        self._waiting = waiting
        self._senders: dict[str, _Sender] = {}

    def are_taken(self, sender: str) -> bool:
        """Returns whether so many requests of a sender wait that no further one is accepted."""
        own = self._senders.get(sender)
        return own is not None and own.requests >= self._of_one + self._waiting

    @asynccontextmanager
    async def turn(self, sender: str) -> AsyncIterator[None]:
        """Waits for a turn and holds it. Raises TooManyWaiting."""
        if self.are_taken(sender):
            raise TooManyWaiting
        own = self._senders.setdefault(sender, _Sender(self._of_one))
        own.requests += 1
        try:
            # The sender's own turn first, so that no sender has more than its share in the common
            # queue.
            async with own.turns, self._all:
                yield
        finally:
            own.requests -= 1
            if not own.requests:
                del self._senders[sender]


class _Sender:
    def __init__(self, turns: int) -> None:
        self.requests = 0
        self.turns = asyncio.Semaphore(turns)
