"""Two stages, kernels or graphs side by side, of one run or of two."""

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.answers.missing import NotHere, no_graph
from inductorscope.answers.parts import GraphName, RunName, graphs_of, run_name
from inductorscope.fields import Hidden
from inductorscope.formats.vocabulary import STAGE_BY_ID
from inductorscope.store.tables.models import Run

RECENT = 100
"""Number of runs to choose from; the address can name any other."""


class BesideSide(msgspec.Struct, frozen=True):
    """One side: the text of a stage, or of one kernel."""

    run: RunName
    graph: GraphName
    graphs: Hidden[list[GraphName]]
    """All graphs of the run, to choose from."""
    stage: str
    kernel: str | None
    """The kernel, if the stage shows a single one."""


class BesidePage(msgspec.Struct, frozen=True):
    """Side by side `/beside`."""

    left: BesideSide
    right: BesideSide
    runs: Hidden[list[RunName]]
    """Runs to choose from, the newest first."""


def beside_page(session: Session, left: str, right: str) -> BesidePage:
    """Returns the page. Each side is named `RUN/GRAPH/STAGE`, with `/KERNEL` if the stage shows a
    single kernel."""
    sides = _side(session, left), _side(session, right)
    newest = select(Run.id, Run.name).order_by(Run.created_at.desc(), Run.id).limit(RECENT)
    offered = {run: RunName(run, name) for run, name in session.execute(newest)}
    for side in sides:
        offered.setdefault(side.run.id, side.run)
    return BesidePage(*sides, list(offered.values()))


def _side(session: Session, side: str) -> BesideSide:
    run, slug, stage, *kernel = side.split("/")
    graphs = graphs_of(session, run)
    graph = next((graph for graph in graphs if graph.slug == slug), None)
    if graph is None:
        raise no_graph(run, slug)
    if stage not in STAGE_BY_ID:
        raise NotHere(f"There is no stage {stage}.", f"The stages are {', '.join(STAGE_BY_ID)}.")
    name = kernel[0] if kernel else None
    return BesideSide(run_name(session, run), graph, graphs, stage, name)
