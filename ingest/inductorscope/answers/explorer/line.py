"""A line of any stage: what it became, what it costs, and how that is known."""

from collections import defaultdict
from collections.abc import Iterator

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope import urls
from inductorscope.answers.explorer.graph_texts import graph_links
from inductorscope.answers.explorer.reasons import EXPLAINED, reasons_of_line
from inductorscope.answers.missing import NotAnalysed, NotHere, begin, no_graph
from inductorscope.answers.parts import RunName, kernel_time, run_name
from inductorscope.answers.time.lines import line_costs
from inductorscope.correlate.links.model import CALLS, Confidence, GraphLinks
from inductorscope.fields import Hidden, Prose
from inductorscope.formats.graph.fx_nodes import FxNode
from inductorscope.formats.text import lines_of
from inductorscope.formats.vocabulary import CODE, KERNEL, READABLE, SOURCE, STAGE_BY_ID, WRAPPER
from inductorscope.store.contents.texts import stored_text, text_of
from inductorscope.store.runs.nodes import fx_nodes
from inductorscope.store.tables.models import Artifact, Graph, Kernel, KernelCall

MOST_LINES = 4
"""Most lines of one stage that are listed, the most certain first."""
MOST_NODES = 6
OF_CODE = (KERNEL, WRAPPER, CODE)
ALIGNING = "The lines of kernels are not aligned yet: until then their calls alone are known."
UNUSED = "Nothing of this run refers to this line."
WHOLE = ("kernel:", "call:")
"""Entities that all lines of a kernel refer to."""


class LineKernel(msgspec.Struct, frozen=True):
    """A kernel that computes the line, or part of it."""

    graph: str
    kernel: str
    handle: int
    category: str
    time_us: float | None
    """Time of all its calls per step."""
    line_us: float | None
    """The line's share of that time."""
    lines: str
    """Lines of the output code."""
    certainty: str


class LineNodes(msgspec.Struct, frozen=True):
    """FX nodes of one operation that the line refers to."""

    graph: str
    operation: str
    count: int
    nodes: list[str]
    """Names of the first few nodes."""
    lines: str
    """Lines of the post-grad graph."""
    certainty: str


class LinkedLine(msgspec.Struct, frozen=True):
    """A line of another stage that refers to the same entity."""

    graph: str
    stage: str
    line: int
    text: str
    certainty: str


class LinePage(msgspec.Struct, frozen=True):
    """A line and what it became."""

    run: RunName
    stage: str
    path: str
    line: int
    code: str
    time_us: float | None
    """Time per step of the kernels that the line is part of."""
    shared_us: float | None
    """Its share of that time; the shares of all lines sum to the time of all kernels."""
    share: float | None
    url: Hidden[str]
    """The explorer with the line selected."""
    notes: list[Prose]
    reasons: list[Prose]
    """How the links of a line of generated code are known."""
    kernels: list[LineKernel]
    nodes: list[LineNodes]
    lines: list[LinkedLine]
    more_lines: int


def line_page(session: Session, run: str, place: str, slug: str = "") -> LinePage:
    """Returns the page. `place`: `model.py:29`, or a stage and a line of the graph `slug`, such as
    `post_grad:7`."""
    owner = run_name(session, run)
    name, _, number = place.rpartition(":")
    line = int(number[:9]) if number.isdecimal() else 0
    if not name or not line:
        raise NotHere(f"{place} names no line.", "Write model.py:29 or post_grad:7.", run)
    stage, path = name, ""
    if name not in STAGE_BY_ID or name == SOURCE:
        stage, path = SOURCE, _path(session, run, name.removeprefix(f"{SOURCE}:"))
    key = f"{SOURCE}:{path}" if path else CODE if stage in OF_CODE else stage
    graphs = _graphs(session, run, slug, any_graph=bool(path))
    parts = [part for graph in graphs if (part := _part(session, graph, key, line)).wanted]
    found = parts[0].graph.slug if parts else graphs[0].slug if graphs else ""
    cost = next(
        (cost for cost in line_costs(session, run) if (cost.path, cost.line) == (path, line)), None
    )
    whole = kernel_time(session, run)
    spent = {int(kernel): us for kernel, us in cost.parts} if cost else {}
    said: set[str] = set()
    listed = [linked for part in parts for linked in part.lines(key, said)]
    kernels = [kernel for part in parts for kernel in part.kernels(session, spent)]
    nodes = [node for part in parts for node in part.nodes(session)]
    notes = [ALIGNING] if any(part.links.engine == CALLS for part in parts) else []
    return LinePage(
        run=owner,
        stage=stage,
        path=path,
        line=line,
        code=_text(session, run, graphs, stage, path, line),
        time_us=cost.inclusive_us if cost else None,
        shared_us=cost.shared_us if cost else None,
        share=cost.shared_us / whole if cost and whole else None,
        url=urls.line_in_explorer(run, found, stage, line, path=path or None) if found else "",
        notes=notes if kernels or nodes else [*notes, UNUSED],
        reasons=_reasons(session, run, found, key, line),
        kernels=sorted(kernels, key=lambda kernel: -(kernel.line_us or kernel.time_us or 0.0)),
        nodes=nodes,
        lines=listed,
        more_lines=sum(part.left_out for part in parts),
    )


def _path(session: Session, run: str, name: str) -> str:
    """Returns the source file of this name, which may be only the end of its path."""
    query = select(Artifact.path).where(Artifact.run_id == run, Artifact.role == SOURCE).distinct()
    paths = sorted(session.scalars(query))
    fitting = [path for path in paths if path == name or path.endswith(f"/{name}")]
    if len(fitting) != 1:
        what = "Several source files are" if fitting else "No source file of this run is"
        some = ", ".join(f"`{path}`" for path in (fitting or paths)[:20])
        raise NotHere(f"{what} named `{name}`.", f"Choose from {some or 'none: it has none'}.", run)
    return fitting[0]


def _graphs(session: Session, run: str, slug: str, any_graph: bool) -> list[Graph]:
    graphs = list(
        session.scalars(select(Graph).where(Graph.run_id == run).order_by(Graph.position))
    )
    chosen = [graph for graph in graphs if not slug or graph.slug == slug]
    if slug and not chosen:
        raise no_graph(run, slug)
    if len(chosen) != 1 and not any_graph:
        names = ", ".join(f"`{graph.slug}`" for graph in chosen[:20])
        do = f"Name the graph of the line: {names}." if chosen else None
        raise NotHere(f"The run has {'several graphs' if chosen else 'no graph'}.", do, run)
    return chosen


class _Part(msgspec.Struct):
    """One graph: the entities of the line, and the other lines that refer to them."""

    graph: Graph
    links: GraphLinks
    wanted: dict[int, int]
    """Entity → how certain it is that the line refers to it."""
    texts: dict[str, list[str]]
    left_out: int = 0

    def matches(self, key: str) -> dict[int, int]:
        """Returns line of a stage → certainty of its link with the line."""
        found: dict[int, int] = {}
        columns = self.links.stages.get(key)
        for line, entity, known in columns.references() if columns else ():
            if entity in self.wanted:
                found[line] = max(found.get(line, 0), min(known, self.wanted[entity]))
        return found

    def lines(self, own: str, said: set[str]) -> Iterator[LinkedLine]:
        """Returns the linked lines, each text once, because graphs repeat lines of the graphs that
        they are made from. `said`: texts found in other graphs; this call adds to it."""
        for key, text in self.texts.items():
            found = self.matches(key) if key != own else {}
            lines = {
                line: text[line - 1].strip()
                for line in sorted(found, key=lambda line: (-found[line], line))
                if line <= len(text) and not text[line - 1].lstrip().startswith("#")
            }
            new = [line for line in lines if lines[line] not in said]
            said |= set(lines.values())
            self.left_out += len(new[MOST_LINES:])
            for line in sorted(new[:MOST_LINES]):
                known = Confidence(found[line]).name
                yield LinkedLine(self.graph.slug, key, line, lines[line], known)

    def kernels(self, session: Session, spent: dict[int, float]) -> Iterator[LineKernel]:
        known = self.matches(CODE)
        calls: dict[int, dict[int, int]] = defaultdict(dict)
        of_graph = select(KernelCall.kernel_id, KernelCall.line, KernelCall.handle)
        query = of_graph.where(KernelCall.graph_id == self.graph.id).order_by(KernelCall.line)
        for kernel_id, line, handle in session.execute(query):
            calls[kernel_id][line] = handle
        for kernel in session.scalars(select(Kernel).where(Kernel.graph_id == self.graph.id)):
            sites = calls[kernel.id]
            if kernel.first_line is None or kernel.last_line is None:
                own = known.keys() & sites.keys()
            else:
                own = {line for line in known if kernel.first_line <= line <= kernel.last_line}
            if not own:
                continue
            best = max(known[line] for line in own)
            handles = [handle for line, handle in sites.items() if line in known]
            yield LineKernel(
                graph=self.graph.slug, kernel=kernel.name,
                handle=min(handles or sites.values(), default=1), category=kernel.category,
                time_us=kernel.time_us, line_us=spent.get(kernel.id),
                lines=_ranges(sorted(line for line in own if known[line] == best)),
                certainty=Confidence(best).name,
            )  # fmt: skip

    def nodes(self, session: Session) -> Iterator[LineNodes]:
        names = {self.links.entities[entity]: known for entity, known in self.wanted.items()}
        by_target: dict[str, list[FxNode]] = defaultdict(list)
        for node in fx_nodes(session, self.graph.id):
            if f"fx:{node.name}" in names:
                by_target[node.target].append(node)
        for target, nodes in by_target.items():
            yield LineNodes(
                self.graph.slug, target, len(nodes), [node.name for node in nodes[:MOST_NODES]],
                lines=_ranges(sorted(node.line for node in nodes)),
                certainty=Confidence(min(names[f"fx:{node.name}"] for node in nodes)).name,
            )  # fmt: skip


def _part(session: Session, graph: Graph, key: str, line: int) -> _Part:
    links = graph_links(session, graph.id)
    wanted: dict[int, int] = {}
    columns = links.stages.get(key)
    for at, entity, known in columns.references() if columns else ():
        if at == line:
            wanted[entity] = max(known, wanted.get(entity, 0))
    narrow = {
        entity: known
        for entity, known in wanted.items()
        if not links.entities[entity].startswith(WHOLE)
    }
    return _Part(graph, links, narrow or wanted, _texts(session, graph) if wanted else {})


def _texts(session: Session, graph: Graph) -> dict[str, list[str]]:
    """Returns the lines of each stage of a graph."""
    query = select(Artifact.role, Artifact.digest, Artifact.size).where(
        Artifact.graph_id == graph.id, Artifact.role.in_((*STAGE_BY_ID, CODE))
    )
    texts = {}
    for role, digest, size in session.execute(query).all():
        begin(f"lines of {digest}", size)
        texts[role] = lines_of(text_of(session, digest))
    stages = [*(stage for stage in STAGE_BY_ID if stage != READABLE), CODE, READABLE]
    return {stage: texts[stage] for stage in stages if stage in texts}


def _text(session: Session, run: str, graphs: list[Graph], stage: str, path: str, line: int) -> str:
    query = select(Artifact.digest).order_by(Artifact.derived)
    if path:
        query = query.where(Artifact.run_id == run, Artifact.role == SOURCE, Artifact.path == path)
    else:
        role = CODE if stage in OF_CODE else stage
        query = query.where(Artifact.graph_id == graphs[0].id, Artifact.role == role)
    stored = stored_text(session, session.scalars(query).first() or "")
    found = b"" if stored is None else b"".join(stored.lines(line, line))
    return found.decode("utf-8", "replace").strip()


def _reasons(session: Session, run: str, slug: str, stage: str, line: int) -> list[str]:
    if not slug or stage not in EXPLAINED:
        return []
    try:
        found = reasons_of_line(session, run, slug, stage, line)
    except NotAnalysed as error:
        return [str(error)]
    return list(dict.fromkeys(reason.sentence for reason in found.reasons))


def _ranges(lines: list[int]) -> str:
    """Returns `917, 920–925`."""
    parts: list[list[int]] = []
    for line in lines:
        if parts and line == parts[-1][-1] + 1:
            parts[-1].append(line)
        else:
            parts.append([line])
    return ", ".join(f"{part[0]}–{part[-1]}" if len(part) > 1 else f"{part[0]}" for part in parts)
