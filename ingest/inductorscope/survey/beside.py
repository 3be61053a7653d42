"""A run beside the programs of a survey whose graphs have the most operations in common with it."""

from collections.abc import Iterable

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope import urls
from inductorscope.analyze.compare.nodes import OUTPUT
from inductorscope.answers.parts import RunName, run_of
from inductorscope.answers.runs.diagnosis.step import VIEWS
from inductorscope.contract.compare import figure_text
from inductorscope.contract.lock import COUNTS
from inductorscope.contract.project import project
from inductorscope.fields import Hidden, Percent, Prose
from inductorscope.formats.graph.fx_nodes import short_name
from inductorscope.store.runs.nodes import fx_nodes
from inductorscope.store.tables.models import Graph
from inductorscope.survey.cells import cells_of, rows_of, survey_named
from inductorscope.survey.changes import APART, KERNELS, OPERATIONS, SIBLINGS, TOGETHER
from inductorscope.survey.events import AtlasEvent, events_of

SHOWN = 3
"""Programs that are shown."""


class Near(msgspec.Struct, frozen=True):
    """A program of the survey."""

    program: str
    device: str
    mode: str
    torch: str
    share: Percent
    """How many of the operations that either has both have."""
    both: list[str]
    run: Hidden[str]
    counts: Hidden[dict[str, int]]


class Touching(msgspec.Struct, frozen=True):
    """An event that concerns operations of the run."""

    change: Prose
    operations: list[str]
    """Those of the event's operations that the run has."""
    href: str


class Beside(msgspec.Struct, frozen=True):
    """A run beside a survey `/runs/{run}/atlas?name=…`; without a name, beside the newest."""

    run: RunName
    name: str
    torch: str
    """What compiled the run."""
    near: list[Near]
    """The nearest first."""
    figures: dict[str, list[Prose]]
    """A figure that all of them have: of the run, and then of each program near it."""
    touching: list[Touching]


def beside_page(session: Session, run: str, name: str = "") -> Beside:
    """Places a run beside a survey. Raises NotHere."""
    own = run_of(session, run)
    cells = cells_of(session, name := survey_named(session, name)[0])
    mine, lock = _operations(session, run), project(session, run, "")
    near = []
    for (program, device, mode), row in rows_of(cells).items():
        done = [cell for cell in row if cell.run_id and not cell.failure]
        # Of the torch that compiled the run, or else the newest.
        done.sort(key=lambda cell: cell.torch == own.torch_version)
        for cell in done[-1:]:
            theirs = _operations(session, cell.run_id or "")
            if mine & theirs and run not in {other.run_id for other in row}:
                share, both = len(mine & theirs) / len(mine | theirs), sorted(mine & theirs)
                near.append(Near(program, device, mode, cell.python, share, both=both,
                                 run=cell.run_id or "", counts=cell.counts))  # fmt: skip
    near.sort(key=lambda found: -found.share)
    known = [lock.counts, *(found.counts for found in near[:SHOWN])]
    touching = []
    for event in events_of(cells):
        of = sorted({op for ops in _named(event) if mine.issuperset(ops) for op in ops})
        if of:
            touching.append(Touching(event.text, of, f"{urls.atlas(name=name)}#{event.id}"))
    return Beside(
        RunName(own.id, own.name), name, own.torch_version or "", near[:SHOWN], touching=touching,
        figures={
            count.title: [figure_text(count, of[count.id]) for of in known]
            for count in COUNTS
            if any(of.get(count.id) for of in known) and all(count.id in of for of in known)
        },
    )  # fmt: skip


def _operations(session: Session, run: str) -> frozenset[str]:
    """Returns the operations of a run's graphs; views compute nothing."""
    graphs = session.scalars(select(Graph.id).where(Graph.run_id == run)).all()
    nodes = (node for graph in graphs for node in fx_nodes(session, graph))
    return frozenset(
        short_name(node.target) for node in nodes if node.target not in (node.name, OUTPUT)
    ) - {*VIEWS, "getitem"}


def _named(event: AtlasEvent) -> Iterable[set[str]]:
    """Yields the operations that each change of an event names."""
    for what in event.found:
        if event.kind in (APART, TOGETHER):
            yield set(what.removeprefix(f"{SIBLINGS}: ").split(" → "))
        elif event.kind in (OPERATIONS, KERNELS):
            yield set(what[1:].split(", "))
