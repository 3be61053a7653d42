"""Links that an older engine made are made anew, from the texts that are stored.

Cheap and safe to repeat: a graph whose links are of this engine is left alone, each graph is
committed on its own, and a run stays as readable meanwhile as it was. Every worker starts one
process of it, which ends when nothing old is left; of several only one works at a time.
"""

from __future__ import annotations

import argparse
import fcntl
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import Engine, func, select, update

from ..dying import die_with
from ..reading.graph import line_records
from ..reading.graph_content import Given, Task, read_texts, worth_reading
from ..reading.texts import LARGEST_TEXT
from ..settings import Settings, load
from ..store.engine import Sessions, make_engine, sessions
from ..store.links import TODAYS_ENGINE
from ..store.models import Artifact, Graph, Links
from ..store.texts import read_blob
from .processes import environment
from .speaking import speak

LOCK = "relink.lock"
NICENESS = 10

log = logging.getLogger("inductorscope.jobs")


@dataclass(slots=True)
class Relinked:
    """What one pass did."""

    done: int = 0
    failed: int = 0
    """Graphs that keep the links they had."""


def outdated(factory: Sessions) -> int:
    """How many graphs have links of another engine."""
    with factory() as session:
        query = select(func.count()).select_from(Links).where(Links.engine != TODAYS_ENGINE)
        return session.scalar(query) or 0


def relink(engine: Engine) -> Relinked:
    """Makes all links of another engine anew, the newest graphs first."""
    result = Relinked()
    reading, writing = sessions(engine, read_only=True), sessions(engine)
    below: int | None = None
    while True:
        with reading() as session:
            query = select(Links.graph_id).where(Links.engine != TODAYS_ENGINE)
            if below is not None:  # what failed is not tried again in this pass
                query = query.where(Links.graph_id < below)
            below = session.scalar(query.order_by(Links.graph_id.desc()).limit(1))
        if below is None:
            return result
        if _relink_graph(reading, writing, below):
            result.done += 1
        else:
            result.failed += 1


def _relink_graph(reading: Sessions, writing: Sessions, graph_id: int) -> bool:
    task = _task(reading, graph_id)
    links = None if task is None else read_texts(task).content.links
    if links is None:
        return False
    with writing.begin() as session:
        session.execute(
            update(Links)
            .where(Links.graph_id == graph_id, Links.engine != TODAYS_ENGINE)
            .values(
                engine=links.engine,
                payload=links.payload,
                coverage=links.coverage,
                notes=links.notes,
            )
        )
    return True


def _task(reading: Sessions, graph_id: int) -> Task | None:
    """The graph's texts as they were read first; None when the graph is gone."""
    with reading() as session:
        graph = session.get(Graph, graph_id)
        if graph is None:
            return None
        query = select(Artifact.role, Artifact.path, Artifact.digest, Artifact.size)
        rows = session.execute(query.where(Artifact.graph_id == graph_id).order_by(Artifact.id))
        found = {row.role: row for row in rows}
        task = Task(graph.slug, {})
        for role in worth_reading(found):
            row = found[role]
            # What is too long was so for the first reading as well.
            data = read_blob(session, row.digest) if row.size <= LARGEST_TEXT else None
            if data is not None:
                task.texts[role] = Given(row.path, row.digest, data)
        records = select(Artifact.digest).where(
            Artifact.run_id == graph.run_id, Artifact.role == "line_record"
        )
        for digest in session.scalars(records):
            record = line_records(read_blob(session, digest) or b"").get(graph.name)
            task.record = record or task.record
        coverage = session.scalar(select(Links.coverage).where(Links.graph_id == graph_id)) or {}
    if task.record is None and coverage.get("lines_exact"):
        return None  # exact links are not given up for inferred ones
    return task


@contextmanager
def _alone(settings: Settings) -> Iterator[bool]:
    """Whether nobody else on this data folder is at it."""
    settings.data.mkdir(parents=True, exist_ok=True)
    with (settings.data / LOCK).open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        yield True


def relink_all(settings: Settings) -> Relinked | None:
    """None when another process is at it already."""
    with _alone(settings) as alone:
        if not alone:
            return None
        engine = make_engine(settings)
        try:
            return relink(engine)
        finally:
            engine.dispose()


def begin(settings: Settings, factory: Sessions) -> subprocess.Popen[bytes] | None:
    """Starts a process of its own where there is something to do; it ends with this one."""
    if not outdated(factory):
        return None
    command = [sys.executable, "-m", "inductorscope.jobs.relinking", "--parent", str(os.getpid())]
    return subprocess.Popen(command, env=environment(settings), start_new_session=True)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m inductorscope.jobs.relinking")
    parser.add_argument("--parent", type=int, help="end when this process does")
    given = parser.parse_args(arguments)
    if given.parent:
        die_with(given.parent)
    os.nice(NICENESS)
    speak()
    done = relink_all(load())
    if done is not None:
        log.info("made the links of %d graphs anew; %d keep theirs", done.done, done.failed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
