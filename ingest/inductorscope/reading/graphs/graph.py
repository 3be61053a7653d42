"""Reads the graphs of a run: parsed once for all that share their texts, and stored as rows."""

import re
from collections.abc import Callable, Iterator

import msgspec
from msgspec.structs import replace

from inductorscope.formats.vocabulary import (
    BACKWARD,
    CHROME_TRACE,
    CODE,
    DIRECTIONS,
    LINE_RECORD,
    UNKNOWN,
)
from inductorscope.reading.context import Reading
from inductorscope.reading.graphs.apart import read_all
from inductorscope.reading.graphs.sources import Quotes
from inductorscope.reading.graphs.task import Given, GraphContent, Outcome, Task, worth_reading
from inductorscope.reading.graphs.texts_of import GraphSource
from inductorscope.reading.texts import LARGEST_TEXT
from inductorscope.store.contents.texts import packed_text
from inductorscope.store.runs.draft import GraphDraft
from inductorscope.store.runs.packing import pack_kernels

MOST_NAMES = 50_000
"""Most names of kernels by which search finds a run."""
# model__0_forward_1.0, or the AOT id 0_forward
_NUMBERED = re.compile(r"(?<!\d)(\d+)_(forward|backward|inference|joint)")


class GraphRead(msgspec.Struct):
    """A graph and the draft of its rows."""

    source: GraphSource
    draft: GraphDraft
    devices: set[str] = msgspec.field(default_factory=set)
    """Kinds of devices that its nodes and kernels mention."""

    def order(self) -> tuple[str, int, int, tuple[str, int]]:
        """Sorts by process, number of the graph, then forward before backward."""
        source = self.source
        found = _NUMBERED.search(self.draft.aot_id or "") or _NUMBERED.search(source.name)
        number = int(found.group(1)[:9]) if found else 1_000_000_000
        process = source.process or source.position[0]
        return process, number, int(self.draft.direction == BACKWARD), source.position


def read_graphs(reading: Reading, graphs: list[GraphRead], meanwhile: Callable[[], None]) -> Quotes:
    """Parses and links all graphs, and stores each result as soon as it is known.

    Returns the lines of the user's files that stack comments quote. `meanwhile` is called once,
    while other processes parse the first graphs.
    """
    linked = kernels = 0
    quotes: Quotes = {}
    timed = bool(reading.having(CHROME_TRACE))
    reading.progress("Linking lines", 0, len(graphs), "graphs")
    for alike, outcome in _outcomes(reading, graphs, meanwhile):
        reading.notes.merge(outcome.notes)
        for path, lines in outcome.quotes.items():
            known = quotes.setdefault(path, {})
            known |= {line: known.get(line) or code for line, code in lines.items()}
        for graph in alike:
            _fill(graph, outcome.content)
            given = reading.benchmarks.give(graph.draft.kernels)
            if reading.compiled.give(graph.draft.kernels) or given:
                graph.draft.nodes = graph.draft.nodes | pack_kernels(graph.draft.kernels)
        linked += len(alike)
        kernels += sum(graph.draft.kernel_count for graph in alike)
        step = f"{linked:,} of {len(graphs):,} graphs are linked"
        reading.progress("Linking lines", linked, len(graphs), "graphs")
        reading.writer.fill_graphs([graph.draft for graph in alike], kernels, step)
        for graph in alike:
            if len(reading.run.kernel_names) < MOST_NAMES:
                reading.run.kernel_names |= dict.fromkeys(
                    kernel.name for kernel in graph.draft.kernels
                )
            graph.draft.drop_stored(kernels=not timed)
    return quotes


def _outcomes(
    reading: Reading, graphs: list[GraphRead], meanwhile: Callable[[], None]
) -> Iterator[tuple[list[GraphRead], Outcome]]:
    """Yields graphs with the same texts, with their content, which is read once."""
    records: dict[str, dict[str, object]] = {}
    for file in reading.having(LINE_RECORD):
        records |= line_records(file.absolute.read_bytes())
    alike: dict[object, list[GraphRead]] = {}
    for graph in graphs:
        recorded = (graph.source.folder or "") in records
        alike.setdefault(id(graph) if recorded else graph.source.key(), []).append(graph)
    # The longest first, so that no process ends up with a long one at the end.
    groups = sorted(alike.values(), key=lambda group: -_size(group[0]))
    codes = [group[0].source.texts.get(CODE) for group in groups]
    align = sum(code.size for code in codes if code is not None) <= reading.aligned_at_once
    tasks = (
        _task(reading, group[0].source, records.get(group[0].source.folder or ""), align)
        for group in groups
    )
    for number, outcome in read_all(tasks, reading.workers, meanwhile):
        yield groups[number], outcome


def _task(
    reading: Reading, source: GraphSource, record: dict[str, object] | None, align: bool
) -> Task:
    task = Task(source.slug, {}, record, align)
    with reading.sessions() as session:
        for role in worth_reading(source.texts, align=align):
            text = source.texts[role]
            given = Given(text.label, text.digest, size=text.size)
            task.texts[role] = given
            if text.file is not None:
                given.file = text.file.absolute
            elif text.put_together:
                given.data = text.read()
            elif text.size <= LARGEST_TEXT:
                given.packed = packed_text(session, text.digest)
    return task


def _size(graph: GraphRead) -> int:
    """Returns the size in bytes of the texts that are parsed."""
    texts = graph.source.texts
    return sum(texts[role].size for role in worth_reading(texts))


def _fill(graph: GraphRead, content: GraphContent) -> None:
    draft = graph.draft
    draft.aot_id = content.aot_id
    draft.node_count = content.node_count
    draft.wrapper_first, draft.wrapper_last = content.wrapper
    draft.nodes = content.nodes
    draft.sources = content.sources
    draft.links = content.links
    # Each graph's kernels and calls get their own times and rows.
    draft.kernels = [
        replace(kernel, calls=[replace(call) for call in kernel.calls])
        for kernel in content.kernels
    ]
    draft.direction = direction_of(content.aot_id, graph.source)
    graph.devices = content.devices


def direction_of(aot_id: str | None, source: GraphSource) -> str:
    for text in (aot_id or "", source.folder or "", source.name, source.direction or ""):
        for direction in DIRECTIONS:
            if direction in text:
                return direction
    return UNKNOWN


def line_records(data: bytes) -> dict[str, dict[str, object]]:
    """Returns the capture's exact record: graph folder name → record of its lines."""
    try:
        found = msgspec.json.decode(data, type=dict[str, object])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    graphs = found.get("graphs", found)
    if not isinstance(graphs, dict):
        return {}
    return {name: record for name, record in graphs.items() if isinstance(record, dict)}
