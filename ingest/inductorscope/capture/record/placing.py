"""What is written down of a record: entries by line of output_code.py. Needs torch alone."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field

from inductorscope.capture.record.align import find_definition, follow
from inductorscope.capture.record.kernels import Definition, Definitions
from inductorscope.capture.record.origins import Origin

SCHEMA = 1

Entry = list[str | None]


@dataclass
class CallLines:
    """Lines of one kernel as one of its calls means them."""

    kernel: str
    nth: int
    """Counts this kernel's calls in the wrapper, from 1."""
    lines: dict[str, list[Entry]] = field(default_factory=dict)
    """Line of output_code.py → [op, scheduler node and loop-body node, FX node, buffer]."""


@dataclass
class GraphLines:
    """Everything recorded of one graph; lines are numbered from 1 in its output_code.py."""

    lines: dict[str, list[Entry]] = field(default_factory=dict)
    """Line → [op, loop-body node, FX node], the union over all calls of the kernel."""
    shared: dict[str, list[Entry]] = field(default_factory=dict)
    """Line → operations that found their value computed here already and wrote none."""
    calls: list[CallLines] = field(default_factory=list)


@dataclass
class LineRecord:
    """`line_record.json`."""

    schema: int = SCHEMA
    graphs: dict[str, GraphLines] = field(default_factory=dict)
    """By the name of the graph's debug folder."""

    def to_json(self) -> str:
        return json.dumps(asdict(self))


def place_lines(definitions: Definitions) -> tuple[LineRecord, int]:
    """The record of every graph compiled, and how many recorded lines were not found again."""
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
    """The record of one graph, and how many lines with a known origin were not found again."""
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
            for later in _distinct(origin.also):
                _add(graph.shared, line, [later.op, later.node, later.fx])
        graph.calls.append(call)
    return graph, lost


def _distinct(origins: list[Origin]) -> list[Origin]:
    return list({(origin.where, origin.fx): origin for origin in origins if origin.fx}.values())


def _add(lines: dict[str, list[Entry]], line: str, entry: Entry) -> None:
    entries = lines.setdefault(line, [])
    if entry not in entries:
        entries.append(entry)
