"""Writes a record as entries by line of output_code.py. Needs only torch."""

import json
from dataclasses import asdict, dataclass, field

from inductorscope.capturing.record.align import find_definition, follow
from inductorscope.capturing.record.kernels import Definition, Definitions

SCHEMA = 1

Entry = list[str | None]


@dataclass
class CallLines:
    """The lines of a kernel for one of its calls."""

    kernel: str
    nth: int
    """Number of the kernel's call in the wrapper, from 1."""
    lines: dict[str, list[Entry]] = field(default_factory=dict)
    """Line of output_code.py → [op, scheduler node and loop-body node, FX node, buffer]."""


@dataclass
class GraphLines:
    """The record of one graph; lines are numbered from 1 in its output_code.py."""

    lines: dict[str, list[Entry]] = field(default_factory=dict)
    """Line → [op, loop-body node, FX node], the union over all calls of the kernel."""
    calls: list[CallLines] = field(default_factory=list)


@dataclass
class LineRecord:
    """`line_record.json`."""

    schema: int = SCHEMA
    graphs: dict[str, GraphLines] = field(default_factory=dict)
    """Name of the graph's debug folder → its record."""

    def to_json(self) -> str:
        return json.dumps(asdict(self))


def place_lines(definitions: Definitions) -> tuple[LineRecord, int]:
    """Returns the record of every compiled graph, and the number of recorded lines not located."""
    record = LineRecord()
    lost = 0
    for folder, defined in definitions.by_folder.items():
        code = folder / "output_code.py"
        if code.is_file():
            graph, missed = graph_lines(defined, code.read_text(encoding="utf-8"))
            record.graphs[folder.name] = graph
            lost += missed
    return record, lost


def graph_lines(definitions: list[Definition], code: str) -> tuple[GraphLines, int]:
    """Returns the record of one graph, and the number of lines with an origin not located."""
    output = code.split("\n")
    graph = GraphLines()
    lost = 0
    for definition in definitions:
        start = find_definition(output, definition.kernel)
        if start is None:
            lost += sum(origin is not None for origin in definition.origins)
            continue
        call = CallLines(definition.kernel, definition.nth)
        places = follow(definition.source, output, start)
        for place, origin in zip(places, definition.origins, strict=True):
            if origin is None or origin.fx is None:
                continue
            if place < 0:
                lost += 1
                continue
            line = str(place + 1)
            _add(graph.lines, line, [origin.op, origin.node, origin.fx])
            _add(call.lines, line, [origin.op, origin.where, origin.fx, origin.buffer])
        graph.calls.append(call)
    return graph, lost


def _add(lines: dict[str, list[Entry]], line: str, entry: Entry) -> None:
    entries = lines.setdefault(line, [])
    if entry not in entries:
        entries.append(entry)
