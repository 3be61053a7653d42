"""Finds the runs and graphs that contain a text, and where the explorer shows its lines."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec
from sqlalchemy import Row, and_, case, func, select, true
from sqlalchemy.orm import Session

from inductorscope import urls
from inductorscope.answers.parts import DEAREST_CALL, RunName
from inductorscope.answers.search.runs import Narrowed
from inductorscope.fields import Hidden, view
from inductorscope.formats.vocabulary import CODE, KERNEL, SOURCE, STAGE_BY_ID, WRAPPER
from inductorscope.store.tables.models import Artifact, Graph, Kernel, Run

MOST_PLACES = 30
"""Most places of a text that are read."""
NAMED_ELSEWHERE = 6


class TextPlace(msgspec.Struct, frozen=True):
    """A stored file with the text."""

    run: RunName
    reading: bool
    artifact: Hidden[int]
    path: str
    role: str
    graph: str | None
    url: Hidden[str]


class TextPlaces(msgspec.Struct, frozen=True):
    """The file that stands for a text, and others with the same text."""

    place: TextPlace
    elsewhere: list[TextPlace]
    """A few other graphs and runs."""
    more_places: bool


class LinePlace(msgspec.Struct, frozen=True):
    """The explorer's place for a line. A line without a graph has none."""

    graph: str | None = None
    stage: str | None = None
    kernel: str | None = None
    handle: int | None = None

    def url(self, text: TextPlace, line: int) -> str:
        """Returns the URL of the line in the explorer, or in the file if the explorer does not show
        it."""
        if self.graph is None or self.stage is None:
            return urls.file(text.run.id, text.artifact, line=line)
        return urls.line_in_explorer(
            text.run.id,
            self.graph,
            self.stage,
            line,
            path=text.path if self.stage == "source" else None,
            kernel=self.kernel,
            handle=self.handle,
        )


NOWHERE = LinePlace()


def places_of(
    session: Session, digests: Sequence[str], narrowed: Narrowed, file: int | None
) -> dict[str, TextPlaces]:
    """Returns the places of each text: first in runs that the search is narrowed to, then the
    newest."""
    if not digests:
        return {}
    rows: dict[str, list[Row[tuple[object, ...]]]] = defaultdict(list)
    order = (
        (Artifact.id == (file or 0)).desc(),
        case((and_(true(), *narrowed.conditions()), 0), else_=1),
        Run.created_at.desc(),
        Run.id,
        Artifact.graph_id.is_(None),
        Graph.position,
        Artifact.derived,
        Artifact.id,
    )
    ranked = (
        select(
            Artifact.digest,
            Artifact.id.label("artifact"),
            Artifact.path,
            Artifact.role,
            Run.id.label("run"),
            Run.name,
            Run.state,
            Graph.slug,
            func.row_number().over(partition_by=Artifact.digest, order_by=order).label("rank"),
        )
        .join(Run, Run.id == Artifact.run_id)
        .outerjoin(Graph, Graph.id == Artifact.graph_id)
        .where(Artifact.digest.in_(digests))
        .subquery()
    )
    query = select(ranked).where(ranked.c.rank <= MOST_PLACES).order_by(ranked.c.rank)
    for row in session.execute(query):
        rows[row.digest].append(row)
    chosen = {digest: _distinct(places) for digest, places in rows.items()}
    most = 1 + NAMED_ELSEWHERE
    return {
        digest: TextPlaces(places[0], places[1:most], more_places=len(places) > most)
        for digest, places in chosen.items()
    }


def _distinct(rows: Iterable[Row[tuple[object, ...]]]) -> list[TextPlace]:
    """Returns one place per graph. A log's payload without a graph is dropped if the run has a
    graph made from it."""
    places: dict[tuple[str, str | None], TextPlace] = {}
    for row in rows:
        place = view(
            TextPlace,
            row,
            run=RunName(row.run, row.name),
            reading=row.state == "reading",
            graph=row.slug,
            url=urls.file(row.run, row.artifact),
        )
        places.setdefault((row.run, row.slug), place)
    in_graphs = {run for run, slug in places if slug is not None}
    first = next(iter(places))
    return [
        place
        for key, place in places.items()
        if key == first or key[1] is not None or key[0] not in in_graphs
    ]


def place_lines(
    session: Session, places: Mapping[str, TextPlaces], lines: Mapping[str, Sequence[int]]
) -> dict[str, list[LinePlace]]:
    """Returns the explorer's place for each line of each text."""
    graphs = _Graphs(session, [places[digest].place for digest in lines])
    return {
        digest: [graphs.place(places[digest].place, line) for line in numbers]
        for digest, numbers in lines.items()
    }


class _KernelLines(msgspec.Struct, frozen=True):
    first: int
    last: int
    name: str
    handle: int | None


class _Graphs:
    """The graphs of the matching texts, and the texts that the explorer shows of them."""

    def __init__(self, session: Session, places: Sequence[TextPlace]) -> None:
        slugs = {(place.run.id, place.graph) for place in places if place.graph is not None}
        runs = {place.run.id for place in places}
        sourced = {place.run.id for place in places if place.role == SOURCE}
        query = select(
            Graph.id, Graph.run_id, Graph.slug, Graph.wrapper_first, Graph.wrapper_last
        ).where(Graph.run_id.in_(runs))
        rows = session.execute(query).all()
        self._rows = {
            (row.run_id, row.slug): row for row in rows if (row.run_id, row.slug) in slugs
        }
        ids = [row.id for row in self._rows.values()]
        self._kernels = _kernels(session, ids)
        self._shown = _shown(session, ids)
        self._sources = _sources(session, sourced)

    def place(self, place: TextPlace, line: int) -> LinePlace:
        if place.role == SOURCE:
            graph = self._sources.get((place.run.id, place.path))
            return LinePlace(graph, SOURCE) if graph is not None else NOWHERE
        row = self._rows.get((place.run.id, place.graph or ""))
        stage = STAGE_BY_ID.get(place.role)
        # The explorer shows the first text of a role; others open as files.
        if row is None or stage is None or self._shown.get((row.id, place.role)) != place.artifact:
            return NOWHERE
        if place.role == CODE:
            kernel = self._kernel_at(row.id, line)
            if kernel is not None:
                return LinePlace(row.slug, KERNEL, kernel.name, kernel.handle)
            if (row.wrapper_first or 0) <= line <= (row.wrapper_last or 0):
                return LinePlace(row.slug, WRAPPER)
            return LinePlace(row.slug, CODE)
        return LinePlace(row.slug, stage.id)

    def _kernel_at(self, graph: int, line: int) -> _KernelLines | None:
        kernels = self._kernels.get(graph, [])
        at = bisect_right(kernels, line, key=lambda kernel: kernel.first) - 1
        return kernels[at] if at >= 0 and line <= kernels[at].last else None


def _kernels(session: Session, graphs: Sequence[int]) -> dict[int, list[_KernelLines]]:
    """Returns the kernels defined in the code of graphs, in the order of their lines."""
    query = (
        select(Kernel.graph_id, Kernel.first_line, Kernel.last_line, Kernel.name, DEAREST_CALL)
        .where(Kernel.graph_id.in_(graphs), Kernel.first_line.is_not(None))
        .order_by(Kernel.first_line)
    )
    kernels: dict[int, list[_KernelLines]] = defaultdict(list)
    for graph, first, last, name, call in session.execute(query):
        kernels[graph].append(_KernelLines(first, last or first, name, call))
    return kernels


def _shown(session: Session, graphs: Sequence[int]) -> dict[tuple[int | None, str], int]:
    """Returns the file that the explorer shows for each role of a graph."""
    query = (
        select(Artifact.graph_id, Artifact.role, Artifact.id)
        .where(Artifact.graph_id.in_(graphs))
        .order_by(Artifact.derived.desc(), Artifact.id.desc())
    )
    return {(graph, role): number for graph, role, number in session.execute(query)}


def _sources(session: Session, runs: set[str]) -> dict[tuple[str, str], str]:
    """Returns the first graph whose nodes come from each source of a run."""
    query = select(Graph.run_id, Graph.slug, Graph.sources).where(Graph.run_id.in_(runs))
    slugs: dict[tuple[str, str], str] = {}
    for run, slug, sources in session.execute(query.order_by(Graph.position)):
        for path in sources:
            slugs.setdefault((run, path), slug)
    return slugs
