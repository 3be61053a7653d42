"""The process that analyses texts: `python -m inductorscope_server.analysis.child`.

It answers one question at a time until the web process closes the connection.
"""

import argparse
import gc
import sys
from functools import partial
from multiprocessing.connection import Connection

from inductorscope.answers.missing import NotAnalysed, watching
from inductorscope.formats.sizes import GIB
from inductorscope.processes.dying import die_with
from inductorscope.processes.memory import give_back, limit_growth, return_large_blocks
from inductorscope.settings import load
from inductorscope.store.database.engine import Sessions, make_engine, sessions
from inductorscope.store.who import VIEWER

from inductorscope_server.analysis.protocol import Answered, Begun, Question, Raised, Ready

MEMORY = 1 * GIB
"""Address space beyond what is mapped at the start."""
COLLECTED = (100_000, 20, 20)
"""Objects between two searches for reference cycles. Parsing makes many objects and no cycles: with
Python's default, half of its time goes into such searches."""
OUT_OF_MEMORY = 77
"""The exit code when memory runs out."""


def answer(factory: Sessions, question: Question) -> Answered | Raised:
    """Computes an answer. Raises MemoryError."""
    try:
        with factory() as session:
            return Answered(question.function(session, *question.args, **question.options))
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001  # the web process re-raises it
        return Raised(error)


def serve(connection: Connection, factory: Sessions) -> None:
    """Answers questions until the web process closes the connection."""
    connection.send(Ready())
    while True:
        try:
            question = connection.recv()
        except EOFError:
            return
        assert isinstance(question, Question)
        VIEWER.set(question.viewer)
        watching.set(partial(_begin, connection, question.passed_over))
        _send(connection, answer(factory, question))
        give_back()


def _begin(
    connection: Connection, passed_over: dict[str, str],
    text: str, size: int, seconds: float | None,
) -> None:  # fmt: skip
    if text in passed_over:
        raise NotAnalysed(
            f"Analysing these texts {passed_over[text]}, so they are left out. "
            "You can download them."
        )
    connection.send(Begun(text, size, seconds))


def _send(connection: Connection, result: Answered | Raised) -> None:
    try:
        connection.send(result)
    except (MemoryError, OSError):
        raise
    except Exception as error:  # noqa: BLE001  # some exceptions cannot be pickled
        connection.send(Raised(RuntimeError(f"{result!r:.500} cannot be sent: {error}")))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m inductorscope_server.analysis.child")
    parser.add_argument("--connection", type=int, required=True, help="file descriptor")
    parser.add_argument("--parent", type=int, required=True, help="end when this process does")
    given = parser.parse_args(arguments)
    die_with(given.parent)
    return_large_blocks()
    gc.set_threshold(*COLLECTED)
    engine = make_engine(load())
    limit_growth(MEMORY)
    try:
        serve(Connection(given.connection), sessions(engine, read_only=True, for_viewers=True))
    except MemoryError:
        return OUT_OF_MEMORY
    finally:
        engine.dispose()
    return 0


if __name__ == "__main__":
    sys.exit(main())
