"""Put the record in place before anything is compiled, and write it down afterwards."""

from __future__ import annotations

from pathlib import Path

import msgspec
import torch

from inductorscope.capture.record.align import find_definition, follow
from inductorscope.capture.record.kernels import Definition, Definitions, follow_kernels
from inductorscope.capture.record.lines import Texts, follow_lines
from inductorscope.capture.record.origins import Origin, Recorder
from inductorscope.capture.record.owners import follow_owners
from inductorscope.formats.capture_facts import LINE_RECORD, RecordFacts

KNOWN = ("2.11", "2.13")
"""Versions of torch whose generated code was compared with and without the record."""

Entry = list[str | None]


class CallLines(msgspec.Struct):
    """Lines of one kernel as one of its calls means them."""

    kernel: str
    nth: int
    """Counts this kernel's calls in the wrapper, from 1."""
    lines: dict[str, list[Entry]]
    """Line of output_code.py → [op, scheduler node and loop-body node, FX node, buffer]."""


class GraphLines(msgspec.Struct):
    """Everything recorded of one graph; lines are numbered from 1 in its output_code.py."""

    lines: dict[str, list[Entry]] = msgspec.field(default_factory=dict)
    """Line → [op, loop-body node, FX node], the union over all calls of the kernel."""
    shared: dict[str, list[Entry]] = msgspec.field(default_factory=dict)
    """Line → operations that found their value computed here already and wrote none."""
    calls: list[CallLines] = msgspec.field(default_factory=list)


class LineRecord(msgspec.Struct):
    """`line_record.json`."""

    schema: int = 1
    graphs: dict[str, GraphLines] = msgspec.field(default_factory=dict)
    """By the name of the graph's debug folder."""


class Installed:
    """A record being made."""

    def __init__(self) -> None:
        self.recorder = Recorder()
        self.definitions = Definitions()
        texts = Texts()
        follow_owners(self.recorder)
        follow_lines(self.recorder, texts)
        follow_kernels(self.recorder, texts, self.definitions)

    def write(self, out: Path) -> RecordFacts:
        """Write the record of every graph compiled, and say what came of it."""
        if self.recorder.failure is not None:
            return RecordFacts(made=False, reason=self.recorder.failure)
        record = LineRecord()
        lost = 0
        for folder, definitions in self.definitions.by_folder.items():
            code = folder / "output_code.py"
            if code.is_file():
                graph, missed = graph_lines(definitions, code.read_text(encoding="utf-8"))
                record.graphs[folder.name] = graph
                lost += missed
        (out / LINE_RECORD).write_bytes(msgspec.json.encode(record))
        return RecordFacts(
            made=bool(record.graphs),
            reason=_reason(record, lost),
            lines=sum(len(graph.lines) for graph in record.graphs.values()),
            graphs=len(record.graphs),
        )


def install() -> Installed | RecordFacts:
    """Start recording, or say why that is not possible with this torch."""
    version = str(torch.__version__)
    if ".".join(version.split(".")[:2]) not in KNOWN:
        return RecordFacts(
            made=False,
            reason=f"The exact line record is known to fit torch {' and '.join(KNOWN)}, "
            f"not {version}.",
        )
    return Installed()


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
        call = CallLines(definition.kernel, definition.nth, {})
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


def _reason(record: LineRecord, lost: int) -> str:
    if not record.graphs:
        return "No kernel was generated whose lines could be recorded."
    if lost:
        return f"{lost} recorded lines were not found again in the generated code."
    return ""
