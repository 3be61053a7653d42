"""Which runs and graphs hold a text, and where in their explorer its lines are."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Row, func, select
from sqlalchemy.orm import Session

from inductorscope import urls
from inductorscope.answers.parts import RunName
from inductorscope.formats.vocabulary import CODE, KERNEL, SOURCE, STAGE_BY_ID, WRAPPER
from inductorscope.store.tables.models import Artifact, Graph, Kernel, KernelCall, Run

MOST_PLACES = 30
"""Places of a text that are looked at; runs and graphs are counted beyond."""
NAMED_ELSEWHERE = 6


@dataclass(frozen=True, slots=True)
class TextPlace:
    """A stored file that holds the text."""

    run: RunName
    reading: bool
    artifact: int
    path: str
    role: str
    graph: str | None
    url: str


@dataclass(frozen=True, slots=True)
class TextPlaces:
    """The file that a text is shown as, and others that hold the same."""

    place: TextPlace
    elsewhere: list[TextPlace]
    """Of other graphs and runs, a few."""
    other_graphs: int
    """Further graphs of the same run."""
    other_runs: int


@dataclass(frozen=True, slots=True)
class LinePlace:
    """What the explorer is to show for a line; without a graph it cannot show it."""

    graph: str | None = None
    stage: str | None = None
    kernel: str | None = None
    handle: int | None = None

    def url(self, text: TextPlace, line: int) -> str:
        """The line in the explorer, or in the file where the explorer does not show it."""
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
    session: Session, digests: Sequence[str], run: str | None, file: int | None
) -> dict[str, TextPlaces]:
    """The newest run that holds a text comes first, or the one asked for."""
    if not digests:
        return {}
    rows: dict[str, list[Row[tuple[object, ...]]]] = defaultdict(list)
    order = (
        (Artifact.id == (file or 0)).desc(),
        (Artifact.run_id == (run or "")).desc(),
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
    chosen = {digest: _distinct(found) for digest, found in rows.items()}
    runs = _run_counts(session, digests)
    of_run = _graphs_of_run(session, {digest: found[0] for digest, found in chosen.items()})
    return {
        digest: TextPlaces(
            found[0],
            found[1 : 1 + NAMED_ELSEWHERE],
            max(of_run.get(digest, 0) - 1, 0),
            runs[digest] - 1,
        )
        for digest, found in chosen.items()
    }


def _distinct(rows: Iterable[Row[tuple[object, ...]]]) -> list[TextPlace]:
    """One place a graph. A log's payload that belongs to no graph by itself is none beside the
    graph that was made of it."""
    found: dict[tuple[str, str | None], TextPlace] = {}
    for row in rows:
        place = TextPlace(
            RunName(row.run, row.name),
            row.state == "reading",
            row.artifact,
            row.path,
            row.role,
            row.slug,
            urls.file(row.run, row.artifact),
        )
        found.setdefault((row.run, row.slug), place)
    in_graphs = {run for run, slug in found if slug is not None}
    first = next(iter(found))
    return [
        place
        for key, place in found.items()
        if key == first or key[1] is not None or key[0] not in in_graphs
    ]


def _run_counts(session: Session, digests: Sequence[str]) -> dict[str, int]:
    query = (
        select(Artifact.digest, func.count(Artifact.run_id.distinct()))
        .where(Artifact.digest.in_(digests))
        .group_by(Artifact.digest)
    )
    return {digest: count for digest, count in session.execute(query)}  # noqa: C416  # rows


def _graphs_of_run(session: Session, chosen: Mapping[str, TextPlace]) -> dict[str, int]:
    """In how many graphs of its run a text is."""
    query = (
        select(Artifact.digest, Artifact.run_id, func.count(Artifact.graph_id.distinct()))
        .where(
            Artifact.digest.in_(chosen),
            Artifact.run_id.in_({place.run.id for place in chosen.values()}),
        )
        .group_by(Artifact.digest, Artifact.run_id)
    )
    return {
        digest: count
        for digest, run, count in session.execute(query)
        if chosen[digest].run.id == run
    }


def place_lines(
    session: Session, places: Mapping[str, TextPlaces], lines: Mapping[str, Sequence[int]]
) -> dict[str, list[LinePlace]]:
    """For each line of each text what the explorer is to show."""
    graphs = _Graphs(session, [places[digest].place for digest in lines])
    return {
        digest: [graphs.place(places[digest].place, line) for line in numbers]
        for digest, numbers in lines.items()
    }


@dataclass(frozen=True, slots=True)
class _Named:
    first: int
    last: int
    name: str
    handle: int | None


class _Graphs:
    """What is known of the graphs that the found texts belong to."""

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
        # The explorer shows the first text of a role; of others the file itself is shown.
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

    def _kernel_at(self, graph: int, line: int) -> _Named | None:
        kernels = self._kernels.get(graph, [])
        at = bisect_right(kernels, line, key=lambda kernel: kernel.first) - 1
        return kernels[at] if at >= 0 and line <= kernels[at].last else None


def _kernels(session: Session, graphs: Sequence[int]) -> dict[int, list[_Named]]:
    """Kernels that the code of graphs defines, in the order of their lines."""
    handle = (
        select(func.min(KernelCall.handle))
        .where(KernelCall.kernel_id == Kernel.id)
        .correlate(Kernel)
        .scalar_subquery()
    )
    query = (
        select(Kernel.graph_id, Kernel.first_line, Kernel.last_line, Kernel.name, handle)
        .where(Kernel.graph_id.in_(graphs), Kernel.first_line.is_not(None))
        .order_by(Kernel.first_line)
    )
    found: dict[int, list[_Named]] = defaultdict(list)
    for graph, first, last, name, call in session.execute(query):
        found[graph].append(_Named(first, last or first, name, call))
    return found


def _shown(session: Session, graphs: Sequence[int]) -> dict[tuple[int | None, str], int]:
    """The file that the explorer shows of each role of a graph."""
    query = (
        select(Artifact.graph_id, Artifact.role, Artifact.id)
        .where(Artifact.graph_id.in_(graphs))
        .order_by(Artifact.derived.desc(), Artifact.id.desc())
    )
    return {(graph, role): number for graph, role, number in session.execute(query)}


def _sources(session: Session, runs: set[str]) -> dict[tuple[str, str], str]:
    """For each source of a run the first graph whose nodes come from it."""
    query = select(Graph.run_id, Graph.slug, Graph.sources).where(Graph.run_id.in_(runs))
    found: dict[tuple[str, str], str] = {}
    for run, slug, sources in session.execute(query.order_by(Graph.position)):
        for path in sources:
            found.setdefault((run, path), slug)
    return found
