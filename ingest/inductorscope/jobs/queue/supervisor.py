"""Keeps the web process and the workers alive: restarts a process that died under the same name,
and ends a web process that does not answer."""

import logging
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from importlib import import_module

from inductorscope.errors import InWords
from inductorscope.jobs.errors import cause_of
from inductorscope.jobs.queue.address import announced, answers, running
from inductorscope.jobs.queue.processes import environment, speak
from inductorscope.jobs.queue.slots import Slot, reserve
from inductorscope.processes.dying import die_with, how_it_ended
from inductorscope.processes.programs import program
from inductorscope.settings import Settings
from inductorscope.store.database.private import close_to_others, open_to_others
from inductorscope.store.database.usable import check_content, check_data

FIRST_PAUSE = 0.2
LONGEST_PAUSE = 10.0
LONGEST_PAUSE_AFTER_SIGNAL = 2.0
"""A process that something else killed most likely works when it is started again."""
STEADY_SECONDS = 5.0
"""A process that lived this long restarts at once when it dies."""
TRUSTED_SECONDS = 30.0
"""A process that lived this long is able to start, so it is restarted forever."""
STARTS_THAT_FAIL = 3
"""A process that ends with an error this often, before it was ever trusted, is given up."""
UNRECOVERABLE = (2, 3)
"""Exit codes of the web process: settings that cannot be used, a port that is taken."""
GRACE_SECONDS = 12.0
SECOND_SECONDS = 2.0
"""How long a server waits for another one on the same data folder, which may be stopping."""
LOOK_SECONDS = 0.25
ASK_SECONDS = 5.0
"""Between checks whether the web process answers."""
SILENT_SECONDS = 30.0
"""A web process that has not answered for this long is ended."""

log = logging.getLogger("inductorscope.supervisor")


class StartError(InWords):
    """A process does not start, and trying again would not help; the message says why."""


@dataclass
class Supervised:
    """One process to keep alive."""

    name: str
    command: list[str]
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    pause: float = FIRST_PAUSE
    due: float = 0.0
    failed_starts: int = 0
    trusted: bool = False
    answers: Callable[[], bool] | None = None
    """Tells whether the process answers, if it should."""
    silent_after: float = SILENT_SECONDS
    asked: float = 0.0
    answered: float | None = None
    """When it last answered since it started."""
    silences: int = 0

    def start(self, variables: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.DEVNULL,
            env=variables,
            # Safe because this process has a single thread; the child keeps the setting.
            preexec_fn=partial(die_with, os.getpid()),
            start_new_session=True,  # a Ctrl-C reaches only us, and we stop the children
        )
        self.started = time.monotonic()
        self.answered = None
        log.info("%s started, process %d", self.name, self.process.pid)

    def look(self, variables: dict[str, str]) -> None:
        """Notices a death, and restarts the process when it is time. Raises StartError."""
        at = time.monotonic()
        if self.process is None:
            if at >= self.due:
                self.start(variables)
            return
        status = self.process.poll()
        age = at - self.started
        self.trusted = self.trusted or age > TRUSTED_SECONDS
        if age > STEADY_SECONDS:
            self.pause = FIRST_PAUSE
        if status is None:
            self._end_if_silent()
            return
        self.process = None
        self._judge(status)
        log.warning(
            "%s %s; starting it again in %.1f s", self.name, how_it_ended(status), self.pause
        )
        self.due = at + self.pause
        longest = LONGEST_PAUSE_AFTER_SIGNAL if status < 0 else LONGEST_PAUSE
        self.pause = min(self.pause * 2, longest)

    def _end_if_silent(self) -> None:
        """Ends a process that stopped answering; `look` then notices its death like any other."""
        at = time.monotonic()
        if self.answers is None or at - self.asked < ASK_SECONDS:
            return
        self.asked = at
        if self.answers():
            self.answered = at
        elif self.answered is not None and at - self.answered > self.silent_after:
            self.silences += 1
            assert self.process is not None
            log.warning(
                "%s, process %d, has not answered for %.0f s and is ended (%s)",
                self.name,
                self.process.pid,
                at - self.answered,
                "the first time" if self.silences == 1 else f"{self.silences} times so far",
            )
            self.process.kill()

    def _judge(self, status: int) -> None:
        if self.trusted or status <= 0:
            return
        self.failed_starts += 1
        if status in UNRECOVERABLE or self.failed_starts >= STARTS_THAT_FAIL:
            raise StartError(f"The {self.name} {how_it_ended(status)}; see what it wrote above.")


def supervise(
    settings: Settings, workers: int, web: bool, first_capture: str | None = None
) -> None:
    """Runs until SIGTERM or SIGINT, then stops everything in order. Raises InWords.

    `first_capture` names a built-in model to capture if the database is empty.
    """
    speak(settings)
    import_module("inductorscope.formats.log.kinds")  # says what is wrong with a plugin, once
    with _signals_and_umask() as stop:
        slots = _reserve(settings, workers, web)
        supervised = _processes(settings, [slot.executor_id for slot in slots[:workers]], web)
        variables = environment(settings, PYTHONUNBUFFERED="1")
        try:
            if first_capture is not None:
                # Imported only then, because this process lives long and does little.
                from inductorscope.jobs.api import JobsClient

                with closing(JobsClient(settings)) as client:
                    client.capture_first(first_capture)
            with announced(settings) if web else nullcontext():
                while not stop.wait(LOOK_SECONDS):
                    for process in supervised:
                        process.look(variables)
        finally:
            _stop(supervised)
            for slot in slots:
                slot.release()


@contextmanager
def _signals_and_umask() -> Iterator[threading.Event]:
    """Yields the event that SIGTERM and SIGINT set. Files written meanwhile are for this user
    alone."""
    stop = threading.Event()
    umask = os.umask(0o077)
    before = {sign: signal.getsignal(sign) for sign in (signal.SIGTERM, signal.SIGINT)}
    for sign in before:
        signal.signal(sign, lambda *_: stop.set())
    try:
        yield stop
    finally:
        os.umask(umask)
        for sign, handler in before.items():
            signal.signal(sign, handler)


def _reserve(settings: Settings, workers: int, web: bool) -> list[Slot]:
    """Returns the slots of the workers, then the server's own. Raises StartError, UnusableError."""
    try:
        check_data(settings)
        check_content(settings)
        slots = reserve(settings, workers)
        close_to_others(settings.data)
        if why := open_to_others(settings.data):
            log.warning(why)
        if web and workers:
            slots.append(_alone(settings))
    except OSError as error:
        raise StartError(f"The data folder cannot be used: {cause_of(error)}.") from error
    return slots


def _alone(settings: Settings) -> Slot:
    """Refuses a second server with workers, which is rarely meant. Raises StartError."""
    slot = Slot(settings, "server", purpose="supervisor")
    if slot.take(patience=SECOND_SECONDS):
        return slot
    at = running(settings)
    raise StartError(
        f"A server runs on the data folder {settings.data} already{f', at {at}' if at else ''}. "
        "Open that one or name another folder with --data. For a second web process on purpose, "
        "add --workers 0."
    )


def _processes(settings: Settings, workers: list[str], web: bool) -> list[Supervised]:
    supervised = []
    if web:
        asked = partial(answers, settings.host, settings.port)
        supervised.append(Supervised("web process", program("inductorscope_server"), answers=asked))
    for name in workers:
        module = program("inductorscope.jobs.queue.worker", "--executor-id", name)
        supervised.append(Supervised(f"worker {name}", module))
    return supervised


def _stop(supervised: list[Supervised]) -> None:
    living = [
        entry.process for entry in supervised if entry.process and entry.process.poll() is None
    ]
    for process in living:
        process.send_signal(signal.SIGTERM)
    until = time.monotonic() + GRACE_SECONDS
    for process in living:
        try:
            process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            log.warning("process %d does not stop and is killed", process.pid)
            process.kill()
            process.wait()
