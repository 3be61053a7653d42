"""The graphs, nodes and kernel calls of two runs, ready to be compared."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from functools import cache
from hashlib import sha256

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.analyze.compare.graphs import Graph
from inductorscope.analyze.compare.kernels import Call
from inductorscope.analyze.compare.lines import SourcePlace, moved_lines, same_files
from inductorscope.analyze.compare.nodes import OUTPUT, PLACEHOLDER, Node
from inductorscope.answers.explorer.graph_texts import graph_links, graph_texts
from inductorscope.formats.code.kernel_facts import find_body
from inductorscope.formats.graph.fx_nodes import parse_annotation, short_name
from inductorscope.formats.text import lines_of
from inductorscope.formats.vocabulary import (
    BACKWARD,
    CODE,
    EXTERN,
    NATIVE_TEMPLATE,
    SOURCE,
    TRITON_TEMPLATE,
)
from inductorscope.store.contents.texts import text_of
from inductorscope.store.runs.nodes import call_texts, fx_nodes
from inductorscope.store.tables.models import Artifact, Kernel, KernelCall
from inductorscope.store.tables.models import Graph as GraphRow
from inductorscope.store.tables.times import CallTime

SITE = re.compile(r"^.*/(?:site|dist)-packages/")
CASTS = ("convert_element_type", "_to_copy")
WITH_OPERANDS = (EXTERN, TRITON_TEMPLATE, NATIVE_TEMPLATE)
LARGEST = 4 * 1024 * 1024
"""Bytes of the longest source to compare line by line."""


class Source(msgspec.Struct):
    """A file of the user."""

    artifact: int
    digest: str
    lines: list[str]
    derived: bool
    """Whether it is rebuilt from comments, so that lines that no comment quotes are blank."""


class Side(msgspec.Struct):
    """One of the two runs."""

    run: str
    graphs: list[Graph] = msgspec.field(default_factory=list)
    calls: list[Call] = msgspec.field(default_factory=list)
    sources: dict[str, Source] = msgspec.field(default_factory=dict)
    files: dict[str, str] = msgspec.field(default_factory=dict)
    """Path of a source → its path in the left run."""


def load_sides(session: Session, left: str, right: str) -> tuple[Side, Side]:
    """Loads both runs. Nodes of the right run are placed at lines of the left run."""
    sides = Side(left), Side(right)
    for side in sides:
        side.sources = _sources(session, side.run)
    one, other = sides
    ours, theirs = ({path: of.lines for path, of in side.sources.items()} for side in sides)
    other.files = same_files(ours, theirs)
    lines = {
        path: moved_lines(one.sources[was].lines, other.sources[path].lines)
        for path, was in other.files.items()
    }
    shared = {was: set(lines[path].values()) for path, was in other.files.items()}

    def before(path: str, line: int) -> tuple[SourcePlace, bool]:
        return (_short(path), line), line in shared.get(path, ())

    def after(path: str, line: int) -> tuple[SourcePlace, bool]:
        if path not in lines:
            return (_short(path), line), False
        was = lines[path].get(line)
        return (_short(other.files[path]), was or -line), was is not None

    _load(session, one, before)
    _load(session, other, after)
    return one, other


def _short(path: str) -> str:
    """Shortens paths of libraries, which are installed in different folders on each machine."""
    return SITE.sub("", path)


def _sources(session: Session, run: str) -> dict[str, Source]:
    """Returns the user's files; a real file is preferred to one rebuilt from comments."""
    query = select(
        Artifact.path, Artifact.id, Artifact.digest, Artifact.size, Artifact.derived
    ).where(Artifact.run_id == run, Artifact.role == SOURCE)
    sources: dict[str, Source] = {}
    for path, artifact, digest, size, derived in session.execute(
        query.order_by(Artifact.derived, Artifact.id)
    ):
        if path not in sources and size <= LARGEST:
            text = text_of(session, digest)
            sources[path] = Source(artifact, digest, text.split("\n"), derived)
    return sources


def _load(
    session: Session, side: Side, place: Callable[[str, int], tuple[SourcePlace, bool]]
) -> None:
    query = select(GraphRow).where(GraphRow.run_id == side.run).order_by(GraphRow.position)
    for row in session.scalars(query):
        graph = Graph(row.slug, row.direction == BACKWARD)
        nodes = _nodes(session, row.id, place)
        graph.nodes = list(nodes.values())
        side.graphs.append(graph)
        side.calls += _calls(session, row.id, graph, nodes)


def _nodes(
    session: Session, graph: int, place: Callable[[str, int], tuple[SourcePlace, bool]]
) -> dict[str, Node]:
    typed, placed = cache(_type), cache(place)
    nodes: dict[str, Node] = {}
    values: dict[str, Node] = {}
    """Name → the node that computes its value. Casts depend on the data types of a run, so they are
    skipped: their users use the node that is cast."""
    for stored in fx_nodes(session, graph):
        at: tuple[SourcePlace | None, bool] = (None, False)
        own: SourcePlace | None = None
        if stored.stack_file and stored.stack_line:
            at = placed(stored.stack_file, stored.stack_line)
            own = _short(stored.stack_file), stored.stack_line
        is_input = stored.target == stored.name != OUTPUT
        target = PLACEHOLDER if is_input else stored.target
        node = Node(stored.name, target, typed(stored.annotation or ""), *at, own)
        node.inputs = [values[name] for name in stored.inputs if name in values]
        for source in set(node.inputs):
            source.users.append(node)
        nodes[stored.name] = node
        cast = short_name(target) in CASTS and node.inputs
        values[stored.name] = node.inputs[0] if cast else node
    return nodes


def _type(annotation: str) -> str:
    """Returns data type and shape, without strides and device."""
    dtype, shape = parse_annotation(annotation)
    return annotation if shape is None else f"{dtype}[{', '.join(shape)}]"


def _calls(session: Session, graph_id: int, graph: Graph, nodes: dict[str, Node]) -> list[Call]:
    texts = call_texts(session, graph_id)
    lines = lines_of(text_of(session, graph_texts(session, graph_id).digests.get(CODE)))
    query = (
        select(Kernel, KernelCall.handle, KernelCall.number, CallTime.time_us)
        .join(KernelCall, KernelCall.kernel_id == Kernel.id)
        .join(CallTime, CallTime.call_id == KernelCall.id, isouter=True)
        .where(Kernel.graph_id == graph_id)
        .order_by(KernelCall.line, KernelCall.id)
    )
    digests: dict[str, str] = {}
    ranges: dict[str, tuple[int, int]] = {}
    calls = []
    for kernel, handle, number, own_us in session.execute(query):
        if kernel.name not in digests:
            digests[kernel.name] = _digest(lines, kernel)
            if kernel.first_line is not None and kernel.last_line is not None:
                ranges[kernel.name] = kernel.first_line, kernel.last_line
        us, launches = kernel.time_us, kernel.time_calls
        shared = None if us is None else us / kernel.call_count
        computed = [nodes[name] for name in dict.fromkeys(texts[number][1]) if name in nodes]
        calls.append(
            Call(
                graph=graph, kernel=kernel.name, handle=handle, kind=kernel.kind,
                category=kernel.category, digest=digests[kernel.name], nodes=computed,
                time_us=shared if own_us is None else own_us,
                launches=None if launches is None else launches / kernel.call_count,
            )
        )  # fmt: skip
    if any(not call.nodes and call.category != EXTERN for call in calls):
        _link_nodes(session, graph_id, calls, ranges, nodes)
    _drop_operands(calls)
    return calls


def _link_nodes(
    session: Session,
    graph_id: int,
    calls: list[Call],
    ranges: dict[str, tuple[int, int]],
    nodes: dict[str, Node],
) -> None:
    """Returns the nodes that the kernel's lines are linked to, for calls whose nodes torch did not
    record."""
    links = graph_links(session, graph_id)
    code = links.stages.get(CODE)
    if code is None:
        return
    for call in calls:
        if call.nodes or call.kernel not in ranges:
            continue
        first, last = ranges[call.kernel]
        own = f"call:{call.kernel}:{call.handle}"
        low, high = bisect_left(code.lines, first), bisect_right(code.lines, last)
        found: dict[str, None] = {}
        for entity, of in zip(code.entities[low:high], code.call[low:high], strict=True):
            kind, _, name = links.entities[entity].partition(":")
            if kind == "fx" and name in nodes and (of < 0 or links.entities[of] == own):
                found[name] = None
        call.nodes = [nodes[name] for name in found]


def _drop_operands(calls: list[Call]) -> None:
    """Drops nodes that compute only operands: comments on calls of libraries and templates name
    them too."""
    fused = {node for call in calls if call.category not in WITH_OPERANDS for node in call.nodes}
    for call in calls:
        if call.category in WITH_OPERANDS:
            call.nodes = [node for node in call.nodes if node not in fused] or call.nodes


def _digest(lines: list[str], kernel: Kernel) -> str:
    """Returns the digest of the code without names and comments, or the kernel's name if its code
    is unknown."""
    if kernel.first_line is None or kernel.last_line is None or kernel.last_line > len(lines):
        return kernel.name
    body = find_body(lines, kernel.first_line - 1, kernel.last_line - 1)
    code = (
        line.partition("#" if kernel.kind != "cpp" else "//")[0].strip()
        for line in lines[body.first : body.last + 1]
    )
    return sha256(
        "\n".join(line for line in code if line).replace(kernel.name, "").encode()
    ).hexdigest()
