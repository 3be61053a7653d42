"""The playground's process: `python -m inductorscope.playing`.

It starts the warm process with torch, asks it for tries, and reads what these recorded. It has the
settings and the database; the warm process and the tries have neither. Questions and answers are
lines of JSON. It ends after some time without a question, and when the pipe of questions closes. It
does not ask for a signal at its parent's death, which would already come when the thread that
started it ends.
"""

import os
import select
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import msgspec

from inductorscope.capturing.judging.order import Order as Judgement
from inductorscope.capturing.judging.run import Judge
from inductorscope.capturing.playground import order
from inductorscope.capturing.playground.order import Done, Order, Outcome
from inductorscope.capturing.playground.started import Warm, warm_process
from inductorscope.intake.limits import Limits, Refused
from inductorscope.intake.unpack import unpack
from inductorscope.playing.kernels import Kernels
from inductorscope.playing.tries import Tried, TryAsked
from inductorscope.reading.run import NothingToRead, read_run
from inductorscope.settings import Settings, load
from inductorscope.store.database.engine import Sessions, make_engine, sessions
from inductorscope.store.tables.models import TRY

IDLE_SECONDS = 600.0
"""Time without a question after which this process ends, and torch with it."""
MOST_PRINTED = 10_000


class Playground:
    """The warm process, and what it takes to read what its tries record."""

    def __init__(self, settings: Settings, factory: Sessions, folder: Path, warm: Warm) -> None:
        self.settings = settings
        self.sessions = factory
        self.folder = folder
        self.kernels = Kernels(folder / "kernels")
        self.warm = warm

    def try_out(self, asked: TryAsked) -> Tried:
        """Compiles the code and reads what torch recorded."""
        target, files = self.folder / "try.tar", self.folder / "files"
        shutil.rmtree(files, ignore_errors=True)
        cache = self.kernels.of(asked.person)
        wanted = Order(asked.spec, asked.code, str(target), str(cache))
        stopped = self.warm.ask(wanted, Done).stopped
        outcome, printed = Outcome(error=stopped), ""
        if target.stat().st_size:
            try:
                unpack(target, files, Limits.of(self.settings))
                printed = _last(files / order.PRINTED)
                if not stopped:
                    outcome = msgspec.json.decode((files / order.RESULT).read_bytes(), type=Outcome)
            except (Refused, OSError, msgspec.DecodeError) as error:
                outcome = Outcome(error=f"What it recorded cannot be read: {error}")
        if not outcome.error and not outcome.graphs:
            outcome = Outcome(error="Nothing was compiled: f does nothing that torch can compile.")
        begin = time.perf_counter()
        run = None if outcome.error else self._read(files / order.RUN, asked)
        self.kernels.keep(asked.person, files)
        seconds = time.perf_counter() - begin
        return Tried(
            run=run, error=outcome.error or None, line=outcome.line, printed=printed,
            compile_seconds=outcome.seconds, read_seconds=seconds, call_ms=outcome.call_ms,
        )  # fmt: skip

    def _read(self, root: Path, asked: TryAsked) -> str | None:
        try:
            return read_run(
                root,
                settings=replace(self.settings, data=self.folder / "reading"),
                session_factory=self.sessions,
                origin=TRY,
                name=asked.name,
                tags=asked.tags,
            ).run_id
        except NothingToRead:
            return None


def _last(file: Path) -> str:
    text = file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""
    return text[-MOST_PRINTED:]


@contextmanager
def playground(settings: Settings) -> Iterator[Playground]:
    """Starts the warm process, and ends it."""
    engine = make_engine(settings)
    folders = tempfile.TemporaryDirectory(prefix="isc-play-", ignore_cleanup_errors=True)
    with folders as folder, warm_process(settings) as warm:
        try:
            yield Playground(settings, sessions(engine), Path(folder), warm)
        finally:
            engine.dispose()


def serve(questions: BinaryIO, answers: BinaryIO, settings: Settings) -> None:
    """Answers questions until the web process closes the pipe, or sends none for a while."""

    def say(answer: msgspec.Struct) -> None:
        answers.write(msgspec.json.encode(answer) + b"\n")
        answers.flush()

    with playground(settings) as play:
        say(play.warm.ready)
        while select.select([questions], [], [], IDLE_SECONDS)[0]:
            line = questions.readline()
            if not line:
                return
            asked = msgspec.json.decode(line, type=TryAsked | Judgement)
            if isinstance(asked, Judgement):
                say(Judge(play.warm).judge(asked))
            else:
                say(play.try_out(asked))


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # removes the folders
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(sys.stdin.buffer, answers, load())
    return 0


if __name__ == "__main__":
    sys.exit(main())
