"""TORCH_TRACE logs of a run: counts, versions, and which compile made which graph."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass, field
from functools import partial
from typing import BinaryIO, cast

from ..formats.output_code import parse_output_code
from ..formats.trace_log import LogRecord, TraceLog
from ..formats.trace_summary import LogSummary, summarise
from ..intake.recognise import File
from ..store.models import JsonObject
from .graph import GraphRead
from .notes import Notes

MOST_LISTED = 1000


@dataclass(slots=True)
class LogFacts:
    """What all logs of a run say together."""

    summaries: list[LogSummary] = field(default_factory=list)
    codes: dict[str, str] = field(default_factory=dict)
    """Digest of an output code → its compile id."""
    aot_ids: dict[str, set[str]] = field(default_factory=dict)
    """AOT id → compile ids of the codes that bear it."""

    @property
    def graph_breaks(self) -> int | None:
        return sum(len(log.graph_breaks) for log in self.summaries) if self.summaries else None

    @property
    def recompiles(self) -> int | None:
        return sum(len(log.recompiles) for log in self.summaries) if self.summaries else None

    @property
    def compile_seconds(self) -> float | None:
        known = [log.compile_seconds for log in self.summaries if log.compile_seconds is not None]
        return sum(known) if known else None

    def first(self, name: str) -> str | None:
        """The first log's answer, such as its `torch_version`."""
        return next((value for log in self.summaries if (value := getattr(log, name))), None)

    def json(self) -> JsonObject:
        """Graph breaks and recompiles with their reasons, for the run's environment."""
        return {
            "compile_ids": [item for log in self.summaries for item in log.compile_ids][
                :MOST_LISTED
            ],
            "ranks": sorted({rank for log in self.summaries for rank in log.ranks}),
            "graph_breaks": [
                {"compile_id": item.compile_id, "reason": item.reason}
                for log in self.summaries
                for item in log.graph_breaks
            ][:MOST_LISTED],
            "recompiles": [
                {"compile_id": item.compile_id, "reason": item.reason}
                for log in self.summaries
                for item in log.recompiles
            ][:MOST_LISTED],
        }


class _Watched(TraceLog):
    """A log that remembers the output codes passing by."""

    def __init__(self, stream: BinaryIO, facts: LogFacts, max_bytes: int | None) -> None:
        super().__init__(stream, max_bytes)
        self.facts = facts

    def __next__(self) -> LogRecord:
        record = super().__next__()
        if record.kind == "inductor_output_code" and record.compile_id and record.payload:
            self.facts.codes[_digest(record.payload_text)] = record.compile_id
            aot_id = parse_output_code(record.payload_text[:65536]).aot_id
            if aot_id:
                self.facts.aot_ids.setdefault(aot_id, set()).add(record.compile_id)
        return record


def read_logs(files: list[File], notes: Notes, max_unpacked: int | None = None) -> LogFacts:
    """`max_unpacked`: bytes that a compressed log may unpack to."""
    facts = LogFacts()
    for file in files:
        if file.role != "trace_log":
            continue
        read = partial(_read, file, facts, max_unpacked)
        summary = notes.attempt(file.path, "Reading the log", read, None)
        if summary is not None:
            facts.summaries.append(summary)
            for dropped in summary.dropped:
                reason = f"{dropped.reason}, first in line {dropped.line}"
                notes.add(file.path, reason, dropped.count)
    return facts


def _read(file: File, facts: LogFacts, max_unpacked: int | None) -> LogSummary:
    with file.absolute.open("rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        if not packed:
            return summarise(_Watched(raw, facts, None))
        stream = cast(BinaryIO, gzip.GzipFile(fileobj=raw))
        return summarise(_Watched(stream, facts, max_unpacked))


def give_compile_ids(graphs: list[GraphRead], facts: LogFacts) -> None:
    """By the code itself; else by its AOT id, where that is one compile's and one graph's only."""
    bearers: dict[str, int] = {}
    for graph in graphs:
        if graph.code.aot_id:
            bearers[graph.code.aot_id] = bearers.get(graph.code.aot_id, 0) + 1
    for graph in graphs:
        compile_id = facts.codes.get(_digest(graph.texts.get("output_code", "")))
        ids = facts.aot_ids.get(graph.code.aot_id, set())
        if compile_id is None and len(ids) == 1 and bearers.get(graph.code.aot_id) == 1:
            compile_id = next(iter(ids))
        graph.draft.compile_id = compile_id


def _digest(code: str) -> str:
    return hashlib.sha256(code.strip().encode("utf-8", "replace")).hexdigest()
