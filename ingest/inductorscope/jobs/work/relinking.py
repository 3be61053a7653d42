"""The process that renews links and compile stories of an older version, aligns the lines that
reading left for later, and writes the facts of runs that SQL reads.

It ends when nothing is left to do. On one database only one works at a time.
"""

import argparse
import fcntl
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Engine, text

from inductorscope.jobs.queue.processes import speak
from inductorscope.processes.dying import die_with
from inductorscope.processes.memory import return_large_blocks
from inductorscope.processes.niceness import be_nice
from inductorscope.reading.graphs.apart import cores
from inductorscope.reading.graphs.relink import Relinked, relink
from inductorscope.reading.logs.renew import renew_stories
from inductorscope.settings import Settings, load
from inductorscope.store import facts
from inductorscope.store.database.engine import engine_of, sessions
from inductorscope.store.database.private import make_private_folder

LOCK = "relink.lock"
"""File in the data folder, for SQLite."""
RELINK_LOCK = 0x1D5C0B12
"""Advisory lock of PostgreSQL: any number that no other lock uses."""
NICENESS = 10

log = logging.getLogger("inductorscope.jobs")


@contextmanager
def _alone(settings: Settings, engine: Engine, *, patient: bool = False) -> Iterator[bool]:
    """Yields whether no other process on this database is relinking; `patient` waits until that is
    so."""
    if engine.dialect.name == "postgresql":
        take = "pg_advisory_lock" if patient else "pg_try_advisory_lock"
        # Outside a transaction, which would keep rows from being cleaned up for hours.
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            taken = connection.scalar(text(f"SELECT {take}({RELINK_LOCK})"))
            try:
                yield taken is not False
            finally:
                connection.invalidate()  # closes it, which releases the lock
        return
    make_private_folder(settings.data)
    with (settings.data / LOCK).open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | (0 if patient else fcntl.LOCK_NB))
        except OSError:
            yield False
            return
        yield True


def relink_all(settings: Settings, *, workers: int = 0, patient: bool = False) -> Relinked | None:
    """Renews all links and stories; returns None if another process does so already and this one
    does not wait."""
    with engine_of(settings) as engine, _alone(settings, engine, patient=patient) as alone:
        if not alone:
            return None
        done = relink(engine, workers)
        done.stories = renew_stories(engine)
        return done


def _write_facts(settings: Settings) -> None:
    with engine_of(settings) as engine:
        left, before = 1, 0
        while left and left != before:  # unchanged while another process writes them
            with sessions(engine, read_only=True)() as session:
                before = left
                left = facts.update(session, settings.facts, facts.AT_ONCE, merge=True)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m inductorscope.jobs.work.relinking")
    parser.add_argument("--parent", type=int, help="end when this process does")
    given = parser.parse_args(arguments)
    die_with(given.parent)
    be_nice(NICENESS)
    return_large_blocks()
    settings = load()
    speak(settings)
    # Patient: the process before it may have checked before this one was needed.
    done = relink_all(settings, workers=cores(), patient=True)
    if done is not None:
        log.info("renewed the links of %d graphs; %d keep theirs", done.done, done.failed)
        log.info("renewed the compile stories of %d runs", done.stories)
    if facts.available():
        _write_facts(settings)
    return 0


if __name__ == "__main__":
    sys.exit(main())
