"""The graphs of a run, for pages that show one of them. A run of traces or logs may have none."""

import msgspec
from sqlalchemy import exists, select
from sqlalchemy.orm import Session

from inductorscope.answers.parts import GraphName, RunName, graphs_of, run_of
from inductorscope.store.tables.models import READING, Graph, LogEntry, Profile


class RunGraphs(msgspec.Struct, frozen=True):
    """Explorer `/runs/{run}/explorer` and memory `/runs/{run}/memory`: the page of the first graph,
    or what is missing."""

    run: RunName
    graphs: list[GraphName]
    slowest: str | None
    """Slug of the graph whose kernels take longest; the first if no time is known."""
    reading: bool
    """Whether more graphs may follow."""
    profiles: bool
    """Whether the run has times to show instead."""
    logs: bool


def run_graphs(session: Session, run_id: str) -> RunGraphs:
    run = run_of(session, run_id)
    return RunGraphs(
        run=RunName(run.id, run.name),
        graphs=graphs_of(session, run_id),
        slowest=session.scalar(
            select(Graph.slug)
            .where(Graph.run_id == run_id)
            .order_by(Graph.time_us.is_(None), Graph.time_us.desc(), Graph.position)
            .limit(1)
        ),
        reading=run.state == READING,
        profiles=bool(session.scalar(select(exists().where(Profile.run_id == run_id)))),
        logs=bool(session.scalar(select(exists().where(LogEntry.run_id == run_id)))),
    )
