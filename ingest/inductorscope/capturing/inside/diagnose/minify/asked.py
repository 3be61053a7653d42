"""What a search asked so far: it goes on after a graph ended its process, and in a later job.

Torch's minifier asks the same questions as long as the answers are the same: a search that catches
the same graph again gets to where it was with the earlier answers, and compiles nothing for them.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec.structs import replace

from inductorscope.capturing.inside.diagnose.minify import failure as failures
from inductorscope.capturing.inside.diagnose.minify.catch import Caught
from inductorscope.capturing.inside.diagnose.minify.failure import Failure
from inductorscope.capturing.inside.report import Reporter
from inductorscope.processes.dying import die_with, how_it_ended

FAILS, NOT, COMPILING = "1", "0", "?"
MOST_ENDS = 1_000
"""Most processes that a search may lose."""


class Asked(msgspec.Struct, frozen=True):
    """The graph that is reduced, how it fails, and of each query whether that fails alike."""

    graph: int = 0
    failure: Failure | None = None
    answers: str = ""

    def once_ended(self, status: int) -> "Asked":
        """Takes the end of the process for the answer, if it was running a compiled graph."""
        if not self.answers.endswith(COMPILING):
            return self
        failure = failures.of_end(status)
        if self.failure is None:
            return replace(self, failure=failure, answers="")
        alike = FAILS if self.failure.like(failure) else NOT
        return replace(self, answers=self.answers[:-1] + alike)


class Journal:
    """Writes to a file what is asked, before the graph can end the process."""

    def __init__(self, asked: Asked, file: Path) -> None:
        self.asked = asked
        self.file = file

    def begin(self, caught: Caught, failure: Failure | None = None) -> None:
        """Starts with another graph."""
        self._write(Asked(caught.fingerprint, failure))

    @contextmanager
    def query(self) -> Iterator[None]:
        """A graph is tested. If that ends the process eagerly, it does not count as failing."""
        self._write(replace(self.asked, answers=self.asked.answers + NOT))
        try:
            yield
        finally:
            self.answer(NOT)

    def answer(self, answer: str) -> None:
        """Notes how the last query stands."""
        self._write(replace(self.asked, answers=self.asked.answers[:-1] + answer))

    def _write(self, asked: Asked) -> None:
        self.asked = asked
        self.file.write_bytes(msgspec.json.encode(asked))


def surviving(journal: Journal, report: Reporter) -> None:
    """Returns in a fork of this process, and in another one whenever a graph has ended the last.

    This process must not have run a model yet, since CUDA and threads do not survive a fork.
    """
    parent, asked = os.getpid(), journal.asked
    for _ in range(MOST_ENDS):
        journal.file.write_bytes(msgspec.json.encode(asked))
        child = os.fork()
        if child == 0:
            die_with(parent)
            journal.asked = asked
            return
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        left = msgspec.json.decode(journal.file.read_bytes(), type=Asked)
        found = left.once_ended(status)
        if found == asked or (found == left and status >= 0):
            break
        asked = found
        report.log(f"The process of a graph {how_it_ended(status)}; the search goes on in another.")
    if status < 0:
        os.kill(parent, -status)
    os._exit(status)
