"""Computes answers that analyse uploaded texts, in child processes with limits.

- If a text exceeds a limit, its process is killed, and the text is passed over from then on.
- Each run has one process at a time, so that no run can occupy both.
- Requests wait for a process without occupying a thread. The next is the first of whoever has the
  fewest processes.
"""

import asyncio
import logging
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Concatenate, ParamSpec, TypeVar

from cachetools import TTLCache
from inductorscope.answers.missing import Exceeded
from inductorscope.settings import Settings
from inductorscope.store.database.engine import Sessions
from inductorscope.store.who import VIEWER, Who
from msgspec.structs import replace
from sqlalchemy.orm import Session

from inductorscope_server.analysis.process import Process
from inductorscope_server.analysis.protocol import Question
from inductorscope_server.serving.turns import whose_turn
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

_Asked = tuple[str, Who | None]
"""An answer's name and its viewer."""

log = logging.getLogger(__name__)


@dataclass
class _Waiting:
    """A request that waits for a process."""

    sender: str
    run: str
    turn: asyncio.Future[Process]


class Analysis:
    """The child processes of this web process, and the requests that wait for them."""

    def __init__(self, settings: Settings) -> None:
        self._seconds = settings.analysis_seconds
        self._processes = [Process(settings) for _ in range(PROCESSES)]
        self._threads = ThreadPoolExecutor(PROCESSES, "analysis")
        self._passed_over: TTLCache[_Asked, dict[str, str]] = TTLCache(
            REMEMBERED, REMEMBERED_SECONDS
        )
        """Texts that exceeded a limit, for each answer and viewer, and which limit."""
        self._lock = threading.Lock()
        self._free = list(self._processes)
        self._busy: dict[str, str] = {}
        """Runs whose texts are being analysed, and who asked for that."""
        self._ending: asyncio.TimerHandle | None = None
        self._waiting: list[_Waiting] = []

    async def __call__(
        self,
        function: Callable[Concatenate[Session, str, Given], Answer],
        run: str,
        *args: Given.args,
        **options: Given.kwargs,
    ) -> Answer:
        """Returns `function(session, run, …)`. Raises the function's exceptions, or Refusal if it
        exceeds a limit."""
        question = Question(function, (run, *args), options, {}, VIEWER.get())
        answer: Answer = await self._in_turn(run, partial(self._ask, run, question))
        return answer

    async def once(
        self,
        function: Callable[Concatenate[Session, str, Given], Answer],
        key: str,
        *args: Given.args,
        **options: Given.kwargs,
    ) -> Answer:
        """Returns `function(session, key, …)` like a call, but tries only once and remembers no
        limit. Raises Exceeded."""
        question = Question(function, (key, *args), options, {}, VIEWER.get())
        answer: Answer = await self._in_turn(key, lambda process: process.ask(question))
        return answer

    async def _in_turn(self, run: str, work: Callable[[Process], Any]) -> Any:  # noqa: ANN401  # any answer
        process = await self._process_for(run)
        done = asyncio.get_running_loop().run_in_executor(self._threads, work, process)
        done.add_done_callback(lambda _: self._release(process, run))
        # Shielded, because the process stays occupied if the request is cancelled.
        return await asyncio.shield(done)

    def prepare(self) -> None:
        """Starts a process in the background, because a page that needs one is likely to follow."""
        if len(self._free) == PROCESSES and not any(process.is_alive for process in self._free):
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
        self._waiting.append(_Waiting(whose_turn(), run, turn))
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
        while self._free:
            self._waiting = [request for request in self._waiting if not request.turn.done()]
            ready = [request for request in self._waiting if request.run not in self._busy]
            if not ready:
                return
            has = Counter(self._busy.values())
            first = min(ready, key=lambda request: has[request.sender])
            self._busy[first.run] = first.sender
            if self._ending is not None:
                self._ending.cancel()
            first.turn.set_result(self._free.pop())  # the process that worked last has started

    def _release(self, process: Process, run: str) -> None:
        del self._busy[run]
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

    def _ask(self, run: str, question: Question, process: Process) -> object:
        name = f"{question.function.__name__} of run {run}"
        # Not for others: the answer may be about more than the run, such as what its viewer sees.
        key = name, question.viewer
        what = ""
        for _ in range(TRIES):
            with self._lock:
                passed_over = self._passed_over.get(key, {})
            what = passed_over.get(EVERYTHING, what)
            if EVERYTHING in passed_over:
                break
            try:
                return process.ask(replace(question, passed_over=passed_over))
            except Exceeded as error:
                what = str(error)
                log.warning("%s: analysing %s %s", name, error.text or "its texts", what)
                with self._lock:
                    known = self._passed_over.get(key, {})
                    self._passed_over[key] = known | {error.text: what}
        raise Refusal(
            503,
            f"Analysing the texts of this run {what}, so this page is not shown.",
            do="Download the files instead; the page “What was read” of the run lists them.",
        )


class Here(Analysis):
    """Computes answers in this process, without limits, for a program with a single caller."""

    def __init__(self, settings: Settings, read: Sessions) -> None:
        super().__init__(settings)
        self._read = read

    async def __call__(
        self, function: Callable[..., Answer], run: str, *args: object, **options: object
    ) -> Answer:
        with self._read() as session:
            return function(session, run, *args, **options)

    def prepare(self) -> None:
        """Does nothing: no process needs to start."""
