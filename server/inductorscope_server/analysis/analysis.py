"""Computes answers that analyse uploaded texts, in child processes with limits.

- If a text exceeds a limit, its process is killed, and the text is passed over from then on.
- Each run has one process at a time, so that no run can occupy both.
- Requests wait for a process without occupying a thread, the first come first.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from cachetools import TTLCache
from inductorscope.settings import Settings
from inductorscope.store.who import VIEWER, Who
from sqlalchemy.orm import Session

from inductorscope_server.analysis.process import Exceeded, Process
from inductorscope_server.analysis.protocol import Question
from inductorscope_server.web.errors import Refusal

PROCESSES = 2
TRIES = 3
"""Attempts at one answer; each retry passes over one more text."""
IDLE_SECONDS = 300.0
"""Idle time after which the processes end. It is long, because people read a page for minutes."""
REMEMBERED = 4096
"""Answers for which it is remembered which texts to pass over."""
REMEMBERED_SECONDS = 3600.0
EVERYTHING = ""
"""Stands for all texts of an answer, when a limit was exceeded before any text was named."""

Given = ParamSpec("Given")
Answer = TypeVar("Answer")

log = logging.getLogger(__name__)


class Analysis:
    """The child processes of this web process, and the requests that wait for them."""

    def __init__(self, settings: Settings) -> None:
        self._seconds = settings.analysis_seconds
        self._processes = [Process(settings) for _ in range(PROCESSES)]
        self._threads = ThreadPoolExecutor(PROCESSES, "analysis")
        self._passed_over = PassedOver()
        self._free = list(self._processes)
        self._busy: set[str] = set()
        """Runs whose texts are being analysed."""
        self._ending: asyncio.TimerHandle | None = None
        self._waiting: list[tuple[str, asyncio.Future[Process]]] = []

    async def __call__(
        self,
        function: Callable[Concatenate[Session, str, Given], Answer],
        run: str,
        *args: Given.args,
        **options: Given.kwargs,
    ) -> Answer:
        """Returns `function(session, run, …)`. Raises the function's exceptions, or Refusal if it
        exceeds a limit."""
        process = await self._process_for(run)
        work = partial(self._ask, process, function, run, args, options, VIEWER.get())
        done = asyncio.get_running_loop().run_in_executor(self._threads, work)
        done.add_done_callback(lambda _: self._release(process, run))
        # Shielded, because the process stays occupied if the request is cancelled.
        answer: Answer = await asyncio.shield(done)
        return answer

    def prepare(self) -> None:
        """Starts a process in the background, because a page that needs one is likely to follow."""
        if len(self._free) == PROCESSES and not any(each.is_alive for each in self._free):
            self.start()
            self._end_later()

    def start(self) -> None:
        """Starts a process in the background."""
        self._threads.submit(self._free[-1].prepare)

    def close(self) -> None:
        """Ends all processes for good."""
        for process in self._processes:
            process.close()
        self._threads.shutdown()
        self._end()

    # --- turns ---

    async def _process_for(self, run: str) -> Process:
        turn: asyncio.Future[Process] = asyncio.get_running_loop().create_future()
        self._waiting.append((run, turn))
        self._give_turns()
        try:
            return await asyncio.wait_for(turn, self._seconds)
        except TimeoutError:
            raise Refusal(
                503,
                "Other texts are being analysed, and this page has to wait for them.",
                do="Try again in a moment.",
                headers={"Retry-After": str(self._seconds)},
            ) from None
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._release(turn.result(), run)
            raise

    def _give_turns(self) -> None:
        self._waiting = [entry for entry in self._waiting if not self._give_turn(*entry)]

    def _give_turn(self, run: str, turn: asyncio.Future[Process]) -> bool:
        """Gives the request a process, if one is free; returns whether the request is done
        waiting."""
        if not turn.done() and self._free and run not in self._busy:
            self._busy.add(run)
            if self._ending is not None:
                self._ending.cancel()
            turn.set_result(self._free.pop())  # the process that worked last has started
        return turn.done()

    def _release(self, process: Process, run: str) -> None:
        self._busy.discard(run)
        self._free.append(process)
        self._give_turns()
        self._end_later()

    def _end_later(self) -> None:
        """Ends the processes after a while without work."""
        if self._ending is not None:
            self._ending.cancel()
        self._ending = asyncio.get_running_loop().call_later(
            IDLE_SECONDS, self._threads.submit, self._end
        )

    def _end(self) -> None:
        for process in self._processes:
            process.end()

    # --- in a thread ---

    def _ask(
        self,
        process: Process,
        function: Callable[..., Answer],
        run: str,
        args: tuple[Any, ...],
        options: dict[str, Any],
        viewer: Who | None,
    ) -> Answer:
        name = f"{function.__name__} of run {run}"
        what = ""
        for _ in range(TRIES):
            passed_over = self._passed_over.of(name)
            what = passed_over.get(EVERYTHING, what)
            if EVERYTHING in passed_over:
                break
            try:
                answer = process.ask(Question(function, (run, *args), options, passed_over, viewer))
            except Exceeded as error:
                what = str(error)
                log.warning("%s: analysing %s %s", name, error.text or "its texts", what)
                self._passed_over.add(name, error.text, what)
            else:
                return cast(Answer, answer)
        raise Refusal(
            503,
            f"Analysing the texts of this run {what}, so this page is not shown.",
            do="Download the files instead; the page “What was read” of the run lists them.",
        )


class PassedOver:
    """Texts that exceeded a limit, for each answer, and which limit."""

    def __init__(self) -> None:
        self._texts: TTLCache[str, dict[str, str]] = TTLCache(REMEMBERED, REMEMBERED_SECONDS)
        self._lock = threading.Lock()

    def of(self, answer: str) -> dict[str, str]:
        with self._lock:
            return self._texts.get(answer, {})

    def add(self, answer: str, text: str, what: str) -> None:
        with self._lock:
            self._texts[answer] = {**self._texts.get(answer, {}), text: what}
