"""A child process, seen from the web process: started on demand, killed if it exceeds a limit."""

import multiprocessing
import os
import pickle
import subprocess
import threading
import time
from multiprocessing.connection import Connection

from inductorscope.answers.compile import ranks, story
from inductorscope.answers.explorer import kernel, reasons
from inductorscope.answers.failures import report
from inductorscope.answers.memory import memory
from inductorscope.answers.missing import Exceeded
from inductorscope.answers.runs import run
from inductorscope.formats.sizes import GIB, MIB
from inductorscope.jobs.queue.processes import environment
from inductorscope.processes.memory import mapped_bytes
from inductorscope.processes.programs import program
from inductorscope.settings import PREFIX, Settings
from sqlalchemy import text
from sqlalchemy.orm import Session, configure_mappers

from inductorscope_server.analysis.child import MEMORY, OUT_OF_MEMORY
from inductorscope_server.analysis.protocol import Answered, Begun, Question, Raised, Ready

ANSWERS = (kernel, memory, ranks, reasons, report, run, story)


def warm(session: Session) -> None:
    """Takes the arguments of an answer. Importing this module does most of the work."""
    configure_mappers()
    session.execute(text("SELECT 1"))


START_SECONDS = 60.0
"""Time that a process may take to start. It is generous, for busy machines."""
MOST_TEXTS = 6
"""The time limit of a whole answer, as a multiple of one text's limit."""
TIMED_BYTES = 8 * MIB
"""A text gets the time limit once more for each so many bytes."""
MOST_ANSWER = 64 * MIB
MOST_GROWTH = MEMORY // 2
"""A process that has mapped so much more than at its start ends before the next question, which
would otherwise find too little memory: allocators keep address space that they once used."""
LIMIT = f"{PREFIX}ANALYSIS_SECONDS"
CHILD = "inductorscope_server.analysis.child"


class Process:
    """One child process at a time."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._closed = False
        self._lock = threading.Lock()
        """Held while the process works or starts."""
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._mapped = 0
        """Bytes of the process's address space at its start."""

    def prepare(self) -> None:
        """Starts the process and has it load what answers need."""
        with self._lock:
            if not self.is_alive:
                self._ask(Question(warm, (), {}, {}))

    def ask(self, question: Question) -> object:
        """Returns the answer or raises the exception of the function. Raises Exceeded."""
        with self._lock:
            return self._ask(question)

    @property
    def is_alive(self) -> bool:
        process = self._process
        return process is not None and process.poll() is None

    def _ask(self, question: Question) -> object:
        connection = self._started()
        connection.send(question)
        result = self._result(connection)
        if isinstance(result, Raised):
            if isinstance(result.error, Exceeded):
                self._end()
            raise result.error
        return result.value

    def end(self) -> None:
        """Ends the process when it has finished its work."""
        with self._lock:
            self._end()

    def close(self) -> None:
        """Kills the process for good. Called from any thread."""
        self._closed = True
        process = self._process
        if process is not None:
            process.kill()

    def _end(self) -> int:
        """Ends the process and returns its exit code."""
        if self._connection is not None:
            self._connection.close()
        status = 0
        if self._process is not None:
            self._process.kill()  # does nothing to a process that has ended
            status = self._process.wait()
        self._connection = self._process = None
        return status

    def _started(self) -> Connection:
        if self._connection is not None and self.is_alive and not self._has_grown:
            return self._connection
        self._end()
        if self._closed:
            raise RuntimeError("The server is stopping.")
        ours, theirs = multiprocessing.Pipe()
        arguments = ("--connection", str(theirs.fileno()), "--parent", str(os.getpid()))
        self._process = subprocess.Popen(
            program(CHILD, *arguments),
            stdin=subprocess.DEVNULL,
            env=environment(self._settings),
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
        theirs.close()
        self._connection = ours
        if not (ours.poll(START_SECONDS) and self._message(ours) == Ready()):
            raise RuntimeError(f"The process that analyses texts does not start ({self._end()}).")
        self._mapped = mapped_bytes(self._process.pid)
        return ours

    @property
    def _has_grown(self) -> bool:
        assert self._process is not None
        return mapped_bytes(self._process.pid) > self._mapped + MOST_GROWTH

    def _result(self, connection: Connection) -> Answered | Raised:
        seconds, limit = float(self._settings.analysis_seconds), f" ({LIMIT})"
        until = time.monotonic() + MOST_TEXTS * seconds
        text = ""
        while connection.poll(max(0.0, min(seconds, until - time.monotonic()))):
            try:
                message = self._message(connection)
            except OSError as error:
                self._end()
                raise Exceeded(f"takes more than {MOST_ANSWER // MIB} MiB", text) from error
            if isinstance(message, Begun):
                text = message.text
                if message.seconds is not None:
                    seconds, limit = message.seconds, ""
                    until = time.monotonic() + seconds
                else:
                    more = self._settings.analysis_seconds * message.size / TIMED_BYTES
                    seconds, until = self._settings.analysis_seconds + more, until + more
            elif isinstance(message, (Answered, Raised)):
                return message
            else:
                raise Exceeded(self._how_it_ended(), text)
        self._end()
        raise Exceeded(f"takes longer than {seconds:.0f} seconds{limit}", text)

    def _message(self, connection: Connection) -> object:
        """The next message; None if the process has closed the connection."""
        try:
            return pickle.loads(connection.recv_bytes(MOST_ANSWER))  # noqa: S301  # from our own process
        except (EOFError, ConnectionError):
            return None

    def _how_it_ended(self) -> str:
        assert self._process is not None
        try:
            status = self._process.wait(START_SECONDS)
        finally:
            self._end()
        if status == OUT_OF_MEMORY:
            return f"needs more than {MEMORY // GIB} GiB of memory"
        return "ends the process that does it"
