"""Two texts side by side: which runs and graphs there are to choose from."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.answers.explorer.graph import graphs_of
from inductorscope.answers.parts import GraphName, RunName, run_name
from inductorscope.store.tables.models import Run

RECENT = 100
"""Runs that are offered; any other one can be named in the address."""


@dataclass(frozen=True, slots=True)
class BesideSide:
    run: RunName
    graph: GraphName
    graphs: list[GraphName]


def recent_runs(session: Session) -> list[RunName]:
    """The newest first."""
    query = select(Run.id, Run.name).order_by(Run.created_at.desc(), Run.id).limit(RECENT)
    return [RunName(*row) for row in session.execute(query)]


def side(session: Session, run: str, slug: str) -> BesideSide | None:
    """The graph of one side and its siblings; None where there is none."""
    named, graphs = run_name(session, run), graphs_of(session, run)
    if named is None or not graphs:
        return None
    found = next((graph for graph in graphs if graph.slug == slug), None)
    return None if found is None else BesideSide(named, found, graphs)
