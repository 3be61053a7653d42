"""Starts the playground's process on demand, and gives it one try at a time.

Who waits for the process holds no thread: only one request at a time uses it, in a thread that
serves nothing else.
"""

import asyncio
import select
import subprocess
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

import msgspec
from anyio import CapacityLimiter, to_thread
from inductorscope.analyze.judging.verdict import Verdict
from inductorscope.capturing.judging.order import Order
from inductorscope.capturing.playground.order import Ready
from inductorscope.jobs.queue.processes import environment
from inductorscope.playing.tries import Tried, TryAsked
from inductorscope.processes.programs import program
from inductorscope.settings import Settings

from inductorscope_server.serving.turns import TooManyWaiting, Turns
from inductorscope_server.web.errors import Refusal

START_SECONDS = 120.0
"""Time to import torch and precompile headers on a busy machine."""
TRY_SECONDS = 120.0
"""Time for a try and for reading it. The try itself is stopped earlier."""
END_SECONDS = 5.0
MOST_WAITING = 8
"""Most requests of one person that wait."""
TURN_SECONDS = 300.0
"""Longest wait for a turn, in which five people's tries can take all of their time."""

Kind = TypeVar("Kind")
Result = TypeVar("Result")


class Playground:
    """The playground's process, one at a time. Requests wait in turn, one of each person."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._turns = Turns(1, 1, MOST_WAITING)
        self._thread = CapacityLimiter(1)
        self._process: subprocess.Popen[bytes] | None = None
        self._ready: Ready | None = None

    async def ready(self, person: str) -> Ready:
        """Starts the process if there is none; does not wait for a try. Raises Refusal."""
        if self._ready is not None and self._is_alive:
            return self._ready
        return await self._in_turn(person, self._started)

    async def try_out(self, person: str, asked: TryAsked) -> Tried:
        """Runs a try once it is this person's turn. Raises Refusal."""
        return await self._in_turn(person, partial(self._tried, asked, Tried))

    async def judge(self, person: str, order: Order) -> Verdict:
        """Judges a kernel, likewise."""
        return await self._in_turn(person, partial(self._tried, order, Verdict))

    async def _in_turn(self, person: str, work: Callable[[], Result]) -> Result:
        try:
            async with asyncio.timeout(TURN_SECONDS) as waiting, self._turns.turn(person):
                waiting.reschedule(None)
                return await to_thread.run_sync(work, limiter=self._thread)
        except TooManyWaiting:
            what, seconds = f"More than {MOST_WAITING} of your tries are waiting.", 5
        except TimeoutError:
            what, seconds = f"The tries of others took {TURN_SECONDS:.0f} s.", 60
        raise Refusal(503, what, do="Try again in a moment.", headers={"Retry-After": str(seconds)})

    @property
    def _is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def close(self) -> None:
        """Ends the process; called from any thread."""
        process = self._process
        if process is not None:
            process.terminate()
            try:
                process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    # --- in the thread ---

    def _tried(self, asked: TryAsked | Order, kind: type[Kind]) -> Kind:
        self._started()
        process = self._process
        assert process is not None
        assert process.stdin is not None
        with suppress(BrokenPipeError):  # the process has ended and gives no answer
            process.stdin.write(msgspec.json.encode(asked) + b"\n")
            process.stdin.flush()
        return self._answer(kind, TRY_SECONDS)

    def _started(self) -> Ready:
        if self._ready is None or not self._is_alive:
            self.close()
            self._ready = None
            self._process = subprocess.Popen(
                program("inductorscope.playing"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=environment(self._settings),
                start_new_session=True,
            )
            self._ready = self._answer(Ready, START_SECONDS)
        return self._ready

    def _answer(self, kind: type[Kind], seconds: float) -> Kind:
        process = self._process
        assert process is not None
        assert process.stdout is not None
        line = b""
        if select.select([process.stdout], [], [], seconds)[0]:
            line = process.stdout.readline()
        if not line:
            self.close()
            raise Refusal(
                503,
                "The process that compiles ended or did not answer; the next try starts a new one.",
                do="Try again. If it stays so, see the server's log; torch must be installed.",
            )
        return msgspec.json.decode(line, type=kind)
