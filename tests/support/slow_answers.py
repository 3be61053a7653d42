"""Answers that exceed limits on purpose, for the processes that analyse texts."""

import mmap
import os
import signal
import time

from inductorscope.answers.missing import NotAnalysed, NotHere, begin
from inductorscope.store.who import VIEWER
from sqlalchemy import text
from sqlalchemy.orm import Session


def texts(session: Session, run: str, *names: str) -> list[str]:
    """What became of each text, of which some cannot be analysed."""
    results = []
    for name in names:
        try:
            begin(name)
        except NotAnalysed as error:
            results.append(str(error))
            continue
        _analyse(name)
        results.append(name)
    return results


def _analyse(name: str) -> None:
    if name == "slow":
        time.sleep(60)
    elif name == "large":
        bytearray(2**31)
    elif name == "crash":
        os.kill(os.getpid(), signal.SIGKILL)


def unnamed(session: Session, run: str) -> None:
    """Takes long before it has named a text."""
    time.sleep(60)


def long_text(session: Session, run: str) -> None:
    """Has five time limits, because its text is long."""
    begin("slow", 2**25)
    time.sleep(60)


def process(session: Session, run: str) -> int:
    return os.getpid()


def waits(session: Session, run: str, seconds: float) -> None:
    time.sleep(seconds)


def slow_for(session: Session, run: str, person: int) -> int:
    """Takes long if this person asks; returns who asks."""
    viewer = VIEWER.get()
    assert viewer is not None
    assert viewer.person is not None
    if viewer.person == person:
        time.sleep(60)
    return viewer.person


def maps(session: Session, run: str, size: int) -> int:
    """Keeps address space without using memory."""
    mapped.append(mmap.mmap(-1, size))
    return os.getpid()


mapped: list[mmap.mmap] = []


def missing(session: Session, run: str) -> None:
    raise NotHere("There is nothing here.", "Look elsewhere.")


def not_to_be_sent(session: Session, run: str) -> object:
    return lambda: None


def sizes(session: Session, run: str, size: int) -> bytes:
    return b"x" * size


def database(session: Session, run: str) -> int:
    return int(session.execute(text("SELECT 7")).scalar_one())
