"""The explorer: the files of each stage, the kernels by time, the links."""

from collections import defaultdict

import msgspec
from msgspec.structs import replace
from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from inductorscope.analyze.failures.fold import is_library
from inductorscope.analyze.time.costs import MEASURED
from inductorscope.analyze.totals import known_sum
from inductorscope.answers.explorer.graph_texts import graph_texts
from inductorscope.answers.explorer.line import LinePage, line_page
from inductorscope.answers.explorer.program import is_forkable
from inductorscope.answers.machine.compiled import configurations
from inductorscope.answers.missing import NotHere
from inductorscope.answers.parts import (
    GraphName,
    RunName,
    graph_name,
    graph_of,
    graphs_of,
    run_name,
    run_of,
    share,
)
from inductorscope.answers.runs.instances import equal_graphs
from inductorscope.answers.time.lines import SLOWEST_LINES
from inductorscope.correlate.links.model import CALLS, Coverage
from inductorscope.fields import Hidden, Microseconds, Prose, view
from inductorscope.formats.code.short_names import short_name
from inductorscope.formats.vocabulary import CODE, POST_GRAD, SOURCE, STAGES, WRAPPER, Stage
from inductorscope.store.runs.nodes import call_texts
from inductorscope.store.tables.models import (
    READING,
    Artifact,
    Graph,
    Kernel,
    KernelCall,
    Links,
    Run,
)
from inductorscope.store.tables.times import CallTime, LineCost

MOST_LINES = 200
"""Number of lines to consider when choosing the line to open on."""


class StageFile(msgspec.Struct, frozen=True):
    """A text of a stage: an artifact, or lines `first` to `last` of one."""

    artifact: Hidden[int]
    path: str
    lines: int | None
    first: int
    last: int | None
    derived: bool
    digest: Hidden[str]
    kernel: str | None = None
    """The kernel that it was compiled from; `/machine` of the API has its lines."""


class StageTexts(msgspec.Struct, frozen=True):
    """One stage and its texts."""

    id: str
    title: str
    language: str
    files: list[StageFile]


class CallSite(msgspec.Struct, frozen=True):
    """One call of a kernel in the wrapper."""

    handle: int
    line: int
    permalink: str
    fx: list[str]
    time_us: float | None
    """The call's time in a step, if a trace has it."""
    measured: bool
    """Whether that time was measured. Otherwise it is an equal part of the time of several
    calls."""
    instances: list[Microseconds]
    """The time in each instance of the region around it, or in each equal graph, if those are
    known; they sum to `time_us`."""


class ExplorerKernel(msgspec.Struct, frozen=True):
    """A kernel in the explorer's list."""

    name: str
    operations: str
    """What it computes, in short; the whole name if that is not known."""
    number: str
    """The number that tells it apart."""
    kind: str
    category: str
    first: int | None
    last: int | None
    time_us: float | None
    share: float | None
    time_source: str | None
    calls: list[CallSite]
    call_count: int
    """Calls in one run of the graph and those equal to it: calls in a subgraph count each time that
    it is called."""


class ExplorerGraph(GraphName, frozen=True):
    """The graph that the explorer shows."""

    node_count: int


class SourceLine(msgspec.Struct, frozen=True):
    """A line of a source."""

    path: str
    line: int


class Explorer(msgspec.Struct, frozen=True):
    """Everything that panes need to load their texts."""

    run: RunName
    graph: ExplorerGraph
    stages: list[StageTexts]
    kernels: list[ExplorerKernel]
    instances: list[GraphName]
    """The equal graphs that are shown as one, this one among them; times are of all of them. Empty
    if no other is equal."""
    graph_time_us: float | None
    coverage: Coverage
    notes: list[Prose]
    aligning: bool
    """Whether the kernels' lines are not aligned yet. Until then they light up with all nodes of
    their call."""
    opens: SourceLine | None
    """The most expensive line of this graph, preferably in the user's files; None if no time is
    known."""


class ExplorerState(msgspec.Struct, frozen=True):
    """The selection that the address describes."""

    panes: list[str] = []
    sel: str = ""
    kernel: str = ""
    file: str = ""


class ExplorerHead(msgspec.Struct, frozen=True):
    """What the page shows before its script has loaded the rest."""

    run: RunName
    graph: GraphName
    graphs: list[GraphName]
    """All graphs of the run, to switch between."""
    failed: bool
    """Whether a compile of the run failed: its errors are then shown in the code."""
    annotated: bool
    """Whether its output code can be downloaded with comments."""
    forkable: bool
    """Whether a file of the graph has its nodes, so that it can be forked."""
    state: ExplorerState


class ExplorerPage(Explorer, frozen=True):
    """Explorer `/runs/{run}/graphs/{slug}`: the explorer's JSON, its siblings and its state."""

    graphs: list[GraphName]
    """All graphs of the run, to switch between."""
    failed: bool
    """Whether a compile of the run failed: its errors are then shown in the code."""
    annotated: bool
    """Whether its output code can be downloaded with comments."""
    forkable: bool
    """Whether a file of the graph has its nodes, so that it can be forked."""
    state: ExplorerState
    selected: LinePage | None
    """The line that the state selects, and what it became."""


def explorer_head(session: Session, run: str, slug: str, state: ExplorerState) -> ExplorerHead:
    graph = graph_of(session, run, slug)
    owner = run_of(session, run)
    return ExplorerHead(
        run=RunName(owner.id, owner.name),
        graph=graph_name(graph),
        graphs=graphs_of(session, run),
        failed=owner.failure is not None,
        annotated=graph_texts(session, graph.id).digests.keys() >= {CODE, POST_GRAD},
        forkable=is_forkable(session, graph.id),
        state=state,
    )


def explorer_page(session: Session, run: str, slug: str, state: ExplorerState) -> ExplorerPage:
    answer = explorer(session, run, slug)
    return view(
        ExplorerPage,
        answer,
        explorer_head(session, run, slug, state),
        selected=_selected(session, run, slug, state.sel),
    )


def _selected(session: Session, run: str, slug: str, selected: str) -> LinePage | None:
    try:
        return line_page(session, run, selected, slug) if selected else None
    except NotHere:  # an entity is selected, or a line that does not exist
        return None


def links_payload(session: Session, run: str, slug: str) -> bytes | None:
    """The packed links of a graph."""
    query = select(Links.payload).join(Graph, Graph.id == Links.graph_id)
    return session.scalar(query.where(Graph.run_id == run, Graph.slug == slug))


def explorer(session: Session, run: str, slug: str) -> Explorer:
    """The explorer of a graph; raises NotHere for an unknown graph."""
    graph = graph_of(session, run, slug)
    links = session.execute(
        select(Links.coverage, Links.notes, Links.engine).where(Links.graph_id == graph.id)
    ).one_or_none()
    equal = equal_graphs(session, run, slug)
    shown = [graph_of(session, run, row.slug) for row in equal] or [graph]
    kernels = {instance.slug: _kernels(session, instance) for instance in shown}
    return Explorer(
        run=run_name(session, run),
        graph=ExplorerGraph(graph.slug, graph.name, graph.direction, graph.node_count),
        stages=_stages(session, graph),
        kernels=_of_all(kernels[slug], [*kernels.values()]) if equal else kernels[slug],
        instances=[graph_name(instance) for instance in shown] if equal else [],
        graph_time_us=known_sum(instance.time_us for instance in shown),
        coverage=Coverage(**links.coverage) if links else Coverage(),
        notes=list(links.notes) if links else [_why_no_links(session, run)],
        aligning=links is not None and links.engine == CALLS,
        opens=_dearest_line(session, graph),
    )


def _dearest_line(session: Session, graph: Graph) -> SourceLine | None:
    """Returns the line of the user's own that takes longest among those with a generated kernel, or
    else any other."""
    if graph.time_us is None:
        return None
    query = select(Kernel.id, Kernel.first_line).where(Kernel.graph_id == graph.id)
    kernels = {kernel: first is not None for kernel, first in session.execute(query)}
    costs = select(LineCost.path, LineCost.line, LineCost.parts).where(
        LineCost.run_id == graph.run_id, LineCost.path.is_not(None)
    )
    dearest: dict[tuple[bool, bool], tuple[float, SourceLine]] = {}
    for path, line, parts in session.execute(costs.order_by(*SLOWEST_LINES).limit(MOST_LINES)):
        spent = sum(us for kernel, us in parts if kernel in kernels)
        rank = not is_library(path), any(kernels.get(kernel, False) for kernel, _ in parts)
        if spent > dearest.get(rank, (0.0, None))[0]:
            dearest[rank] = (spent, SourceLine(path, line))
    return dearest[max(dearest)][1] if dearest else None


def _why_no_links(session: Session, run: str) -> str:
    state = session.scalar(select(Run.state).where(Run.id == run))
    if state == READING:
        return (
            "The lines of this graph are still being linked; they light up as soon as that is done."
        )
    return "No lines of this graph could be linked."


def _stages(session: Session, graph: Graph) -> list[StageTexts]:
    by_role: dict[str, list[Artifact]] = defaultdict(list)
    query = select(Artifact).where(
        Artifact.run_id == graph.run_id,
        or_(Artifact.graph_id == graph.id, Artifact.graph_id.is_(None)),
    )
    for artifact in session.scalars(query.order_by(Artifact.derived, Artifact.id)):
        if artifact.graph_id == graph.id or artifact.role == SOURCE:
            by_role[artifact.role].append(artifact)
    by_role[SOURCE] = _sources(graph, by_role[SOURCE])
    compiled = configurations(session, graph)
    return [
        StageTexts(
            stage.id,
            stage.title,
            stage.language,
            [_file(stage, graph, artifact) for artifact in by_role[stage.role]]
            + [
                StageFile(row.id, row.path, None, 1, None, derived=False, digest="", kernel=kernel)
                for kernel, (first, *_) in compiled.items()
                if (row := first.files.get(stage.id)) is not None
            ],
        )
        for stage in STAGES
    ]


def _file(stage: Stage, graph: Graph, artifact: Artifact) -> StageFile:
    first, last = 1, artifact.line_count
    if stage.id == WRAPPER and graph.wrapper_first and graph.wrapper_last:
        first, last = graph.wrapper_first, graph.wrapper_last
    lines = artifact.line_count
    return view(StageFile, artifact, artifact=artifact.id, lines=lines, first=first, last=last)


def _sources(graph: Graph, artifacts: list[Artifact]) -> list[Artifact]:
    """Returns the source files of this graph's nodes, each once, the one with the most nodes first.
    A real file is preferred to one rebuilt from comments."""
    counts: dict[str, int] = graph.sources
    once: dict[str, Artifact] = {}
    for artifact in artifacts:
        once.setdefault(artifact.path, artifact)
    named = [artifact for artifact in once.values() if artifact.path in counts]
    return sorted(named or once.values(), key=lambda item: (-counts.get(item.path, 0), item.path))


def _kernels(session: Session, graph: Graph) -> list[ExplorerKernel]:
    # Queries columns, not ORM objects, because a graph has hundreds of kernels and calls.
    calls: dict[int, list[CallSite]] = defaultdict(list)
    texts = call_texts(session, graph.id)
    sites = (
        select(
            KernelCall.kernel_id,
            KernelCall.handle,
            KernelCall.line,
            KernelCall.permalink,
            KernelCall.number,
            CallTime.time_us,
            CallTime.known,
            CallTime.instances,
        )
        .join(CallTime, CallTime.call_id == KernelCall.id, isouter=True)
        .where(KernelCall.graph_id == graph.id)
        .order_by(KernelCall.line, KernelCall.id)
    )
    for kernel, handle, line, link, number, time_us, known, places in session.execute(sites):
        nodes = texts[number][1]
        site = CallSite(
            handle, line, link, nodes, time_us, measured=known == MEASURED, instances=places or []
        )
        calls[kernel].append(site)
    rows = session.execute(
        select(
            Kernel.id,
            Kernel.name,
            Kernel.kind,
            Kernel.category,
            Kernel.first_line,
            Kernel.last_line,
            Kernel.time_us,
            Kernel.time_source,
            Kernel.call_count,
        )
        .where(Kernel.graph_id == graph.id)
        .order_by(Kernel.time_us.is_(None), Kernel.time_us.desc(), Kernel.id)
    ).all()
    whole = known_sum(row.time_us for row in rows)
    return [
        view(
            ExplorerKernel,
            row,
            short_name(row.name),
            first=row.first_line,
            last=row.last_line,
            share=share(row.time_us, whole),
            calls=calls[row.id],
        )
        for row in rows
    ]


def _of_all(own: list[ExplorerKernel], graphs: list[list[ExplorerKernel]]) -> list[ExplorerKernel]:
    """Returns the kernels of a graph with the times that they have in all equal graphs."""
    named = [{kernel.name: kernel for kernel in kernels} for kernels in graphs]
    rows: list[ExplorerKernel] = []
    for kernel in own:
        alike = [kernels[kernel.name] for kernels in named]
        calls = []
        for call, *sites in zip(kernel.calls, *(other.calls for other in alike), strict=True):
            known = [site.time_us for site in sites if site.time_us is not None]
            calls.append(
                replace(
                    call, time_us=known_sum(known), measured=all(site.measured for site in sites),
                    instances=known if len(known) == len(sites) else [],
                )
            )  # fmt: skip
        time = known_sum(other.time_us for other in alike)
        count = sum(other.call_count for other in alike)
        rows.append(replace(kernel, time_us=time, calls=calls, call_count=count))
    whole = known_sum(row.time_us for row in rows)
    rows.sort(key=lambda row: -(row.time_us or 0.0))
    return [replace(row, share=share(row.time_us, whole)) for row in rows]
