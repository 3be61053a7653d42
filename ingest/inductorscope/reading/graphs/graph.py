"""Graphs and their rows: which texts are read, once for all graphs that share them, and by whom."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

import msgspec

from inductorscope.formats.vocabulary import BACKWARD, CODE, DIRECTIONS, UNKNOWN
from inductorscope.reading.graphs.ahead import GraphsAhead, Key, key_of
from inductorscope.reading.graphs.content import Given, GraphContent, Outcome, Task, worth_reading
from inductorscope.reading.graphs.pool import Pool
from inductorscope.reading.graphs.sources import Quotes
from inductorscope.reading.graphs.texts_of import GraphSource
from inductorscope.reading.notes import Notes
from inductorscope.reading.profiles.benchmarks import Benchmarks
from inductorscope.store.runs.draft import GraphDraft
from inductorscope.store.runs.nodes import pack_kernels

# model__0_forward_1.0, or the AOT id 0_forward
_NUMBERED = re.compile(r"(\d+)_(forward|backward|inference|joint)")


@dataclass(slots=True)
class GraphRead:
    """A graph and the draft of its rows."""

    source: GraphSource
    draft: GraphDraft
    devices: set[str] = field(default_factory=set)
    """Kinds of devices its nodes and kernels speak of."""

    def order(self) -> tuple[str, int, int, tuple[str, int]]:
        """Process, number of the graph, then forward before backward."""
        source = self.source
        found = _NUMBERED.search(self.draft.aot_id or "") or _NUMBERED.search(source.name)
        number = int(found.group(1)[:9]) if found else 1_000_000_000
        process = source.process or source.position[0]
        return process, number, int(self.draft.direction == BACKWARD), source.position


class GraphReader:
    """Reads graphs; texts that were read before are not read again."""

    def __init__(
        self,
        notes: Notes,
        records: dict[str, dict[str, object]],
        benchmarks: Benchmarks,
        pool: Pool,
        aligned_at_once: int,
        database: str,
        ahead: GraphsAhead,
    ) -> None:
        """`aligned_at_once`: so many bytes of codes have their lines aligned while they are read;
        where there are more, all of them are left for later (`reading.relink`). `records`: the
        capture's exact record of lines, by the folder's name. `database`: where texts are stored.
        `ahead`: graphs that are being read already.
        """
        self._ahead = ahead
        self._database = database
        self._benchmarks = benchmarks
        self._notes = notes
        self._records = records
        self._pool = pool
        self._aligned_at_once = aligned_at_once
        self._align = True
        self.quotes: Quotes = {}
        """What stack comments quote of the user's files."""

    def read(
        self, graphs: list[GraphRead], meanwhile: Callable[[], None]
    ) -> Iterator[list[GraphRead]]:
        """Fills the drafts of all graphs, in the order in which they get ready: those of the same
        texts together. `meanwhile` is done while other processes read the first of them."""
        alike: dict[object, list[GraphRead]] = {}
        for graph in graphs:
            record = self._records.get(graph.source.folder or "")
            key: object = graph.source.key() if record is None else id(graph)
            alike.setdefault(key, []).append(graph)
        # The longest first: so no process is left with a long one at the end.
        groups = sorted(alike.values(), key=lambda group: -_size(group[0]))
        codes = sum(_size_of_code(group[0]) for group in groups)
        self._align = codes <= self._aligned_at_once
        self._ahead.stop()
        begun = {} if self._align else self._begun(groups)
        taken = {id(group) for group in begun.values()}
        rest = [group for group in groups if id(group) not in taken]
        tasks = [partial(self._task, group[0]) for group in rest]
        busy = not self._pool.free
        if busy:  # with what was begun
            meanwhile()
            yield from self._read_ahead(begun)
        for number, outcome in self._pool.run(
            tasks, meanwhile=(lambda: None) if busy else meanwhile
        ):
            yield self._filled(rest[number], outcome)
        yield from self._read_ahead(begun)

    def _read_ahead(self, begun: dict[Key, list[GraphRead]]) -> Iterator[list[GraphRead]]:
        """What was begun; what of it came to nothing is read now."""
        for key, found in self._ahead.outcomes():
            group = begun.pop(key, None)
            if group is None:
                continue
            known = None if found is None or found.notes.any_of("") else found
            tasks = [partial(self._task, group[0])] if known is None else []
            for _, outcome in self._pool.run(tasks):
                known = outcome
            assert known is not None, "a task has an outcome"
            yield self._filled(group, known)

    def _begun(self, groups: list[list[GraphRead]]) -> dict[Key, list[GraphRead]]:
        """The groups that are being read ahead."""
        return {
            key_of(group[0].source.texts): group
            for group in groups
            if group[0].source.folder is None and self._ahead.knows(group[0].source.texts)
        }

    def _filled(self, group: list[GraphRead], outcome: Outcome) -> list[GraphRead]:
        self._take(outcome)
        for graph in group:
            _fill(graph, outcome.content)
            if self._benchmarks.give(graph.draft.kernels):
                graph.draft.nodes = graph.draft.nodes | pack_kernels(graph.draft.kernels)
        return group

    def _task(self, graph: GraphRead) -> Task:
        source = graph.source
        record = self._records.get(source.folder or "")
        task = Task(source.slug, {}, record, self._align, self._database)
        for role in worth_reading(source.texts, align=self._align):
            text = source.texts[role]
            given = Given(text.label, text.digest, size=text.size, place=text.place)
            task.texts[role] = given
            if text.file is not None:
                given.file = text.file.absolute
            elif text.put_together:
                given.data = text.read()
        return task

    def _take(self, outcome: Outcome) -> None:
        self._notes.merge(outcome.notes)
        for path, lines in outcome.quotes.items():
            known = self.quotes.setdefault(path, {})
            for line, code in lines.items():
                known[line] = known.get(line) or code


def _size(graph: GraphRead) -> int:
    """Bytes of the texts that are parsed."""
    texts = graph.source.texts
    return sum(texts[role].size for role in worth_reading(texts))


def _size_of_code(graph: GraphRead) -> int:
    code = graph.source.texts.get(CODE)
    return 0 if code is None else code.size


def _fill(graph: GraphRead, content: GraphContent) -> None:
    draft = graph.draft
    draft.aot_id = content.aot_id
    draft.node_count = content.node_count
    draft.wrapper_first, draft.wrapper_last = content.wrapper
    draft.nodes = content.nodes
    draft.sources = content.sources
    draft.links = content.links
    # Each graph's kernels get times and rows of their own.
    draft.kernels = [replace(kernel) for kernel in content.kernels]
    draft.direction = direction_of(content.aot_id, graph.source)
    graph.devices = content.devices


def direction_of(aot_id: str | None, source: GraphSource) -> str:
    for text in (aot_id or "", source.folder or "", source.name, source.direction or ""):
        for direction in DIRECTIONS:
            if direction in text:
                return direction
    return UNKNOWN


def line_records(data: bytes) -> dict[str, dict[str, object]]:
    """The capture's exact record: graph folder name → record of its lines."""
    try:
        found = msgspec.json.decode(data, type=dict[str, object])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    graphs = found.get("graphs", found)
    if not isinstance(graphs, dict):
        return {}
    return {name: record for name, record in graphs.items() if isinstance(record, dict)}
