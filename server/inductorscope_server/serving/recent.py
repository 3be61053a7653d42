"""Shares the result of blocking work among all requests of a moment."""

import asyncio
import time
from collections.abc import Callable
from typing import Generic, TypeVar

import anyio

T = TypeVar("T")


class Recent(Generic[T]):
    """Does the work at most once at a time, in a thread that waits for no other request."""

    def __init__(self, kept_seconds: float) -> None:
        self._kept_seconds = kept_seconds
        self._thread = anyio.CapacityLimiter(1)
        self._task: asyncio.Task[T] | None = None
        self._ended = 0.0

    async def result(self, work: Callable[[], T], seconds: float) -> T:
        """Returns a recent result or does the work. Raises what it raises, or TimeoutError."""
        task = self._task
        if task is None or (task.done() and time.monotonic() - self._ended > self._kept_seconds):
            task = self._task = asyncio.create_task(self._do(work))
        async with asyncio.timeout(seconds):
            return await asyncio.shield(task)

    def forget(self) -> None:
        """Makes the next request do the work again."""
        self._ended = 0.0

    async def _do(self, work: Callable[[], T]) -> T:
        try:
            return await anyio.to_thread.run_sync(work, limiter=self._thread)
        finally:
            self._ended = time.monotonic()
