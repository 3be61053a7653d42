"""Summary of a TORCH_TRACE log."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from typing import Any, TypeVar

import msgspec

from inductorscope.formats.border import figure
from inductorscope.formats.log.kinds import (
    ARTIFACT,
    BACKWARD_METRICS,
    DYNAMO_START,
    GRAPH_BREAK,
    METRICS,
    RECOMPILED,
    RUNNABLE,
)
from inductorscope.formats.log.record import integer
from inductorscope.formats.log.trace_log import EXAMPLE, OTHERS, Dropped, Log, LogRecord

Item = TypeVar("Item", int, str)

MAX_REASON = 4000
"""Most characters of a reason, and of a text among the metrics."""
MOST_LISTED = 10_000
"""Most entries of each list; further ones are only counted."""

# # torch version: 2.11.0+cu130
_VERSION = re.compile(r"^# torch version: (\S{1,80})", re.M)
# # torch git version: 70d99e998b4955e0049d13a98d77ae1b14db1f45, next to `# torch cuda version: …`
_GIT = re.compile(r"^# torch git version: ([0-9a-f]{7,40})", re.M)
# # NVIDIA H200 : 1
_GPU = re.compile(r"^# GPU Hardware Info:[^\n]*\n# ([^\n:]{1,100}?) :", re.M)


def has_break_records(metrics: dict[str, Any]) -> bool:
    """Whether the version of torch that wrote the log records graph breaks. Until 2.4, most breaks
    appear only among the reasons why Dynamo restarted."""
    return "config_suppress_errors" in metrics or "restart_reasons" not in metrics


class GraphBreak(msgspec.Struct):
    """A graph break, once for each compile in which it occurred."""

    compile_id: str | None
    reason: str
    line: int


class Recompile(msgspec.Struct):
    """A recompile of a frame, and the guards that failed, if logged."""

    compile_id: str
    reason: str
    line: int


class Compilation(msgspec.Struct):
    """One compile of a frame or its backward, from its `compilation_metrics`."""

    compile_id: str | None
    backward: bool
    function: str | None
    file: str | None
    first_line: int | None
    seconds: float | None
    """Duration of the whole compile, including restarts."""
    backend_seconds: float | None
    inductor_seconds: float | None
    fail_type: str | None
    fail_reason: str | None
    restart_reasons: list[str]


class LogSummary(msgspec.Struct):
    """Summary of one log."""

    counts: Counter[str] = msgspec.field(default_factory=Counter)
    """Number of records of each kind; artifacts also as `artifact:<name>`. Names beyond the first
    10,000 are counted as `(others)`."""
    torch_version: str | None = None
    torch_git: str | None = None
    device_name: str | None = None
    triton_version: str | None = None
    compile_ids: list[str] = msgspec.field(default_factory=list)
    """In order of first occurrence."""
    ranks: list[int] = msgspec.field(default_factory=list)
    pids: list[int] = msgspec.field(default_factory=list)
    graph_breaks: list[GraphBreak] = msgspec.field(default_factory=list)
    recompiles: list[Recompile] = msgspec.field(default_factory=list)
    compilations: list[Compilation] = msgspec.field(default_factory=list)
    """Each list has at most 10,000 entries; `dropped` counts the rest."""
    dropped: list[Dropped] = msgspec.field(default_factory=list)


class Summariser:
    """Builds a summary record by record, for callers that read the records too."""

    def __init__(self) -> None:
        self.summary = LogSummary()
        self.compile_ids: dict[str, None] = {}
        self.ranks: dict[int, None] = {}
        self.pids: dict[int, None] = {}
        self.recompiles: dict[str, Recompile] = {}
        self.beyond: dict[str, Dropped] = {}

    def finish(self, log: Log) -> LogSummary:
        self.summary.compile_ids = list(self.compile_ids)
        self.summary.ranks = list(self.ranks)
        self.summary.pids = list(self.pids)
        self.summary.recompiles = list(self.recompiles.values())
        self.summary.dropped = [*log.dropped.values(), *self.beyond.values()]
        return self.summary

    def add(self, record: LogRecord) -> None:
        self._count(record.kind)
        rank, pid, compile_id = record.rank, record.pid, record.compile_id
        if rank is not None and rank not in self.ranks:
            self._list(self.ranks, rank, "ranks", record)
        if pid not in self.pids:
            self._list(self.pids, pid, "processes", record)
        if compile_id is not None and compile_id not in self.compile_ids:
            self._list(self.compile_ids, compile_id, "compile ids", record)
        if record.kind == ARTIFACT:
            self._artifact(record)
        elif record.kind == DYNAMO_START:
            self._start(record)
        elif record.kind in {METRICS, BACKWARD_METRICS}:
            self._metrics(record)

    def _count(self, name: str) -> None:
        counts = self.summary.counts
        counts[name if name in counts or len(counts) < MOST_LISTED else OTHERS] += 1

    def _list(self, listed: dict[Item, None], item: Item, title: str, record: LogRecord) -> None:
        if self._room(listed, item, title, record):
            listed[item] = None

    def _room(
        self, listed: Collection[object], item: object, title: str, record: LogRecord
    ) -> bool:
        """Whether a list has room for one more; otherwise counts it as dropped. Dictionaries list
        each item once."""
        if len(listed) < MOST_LISTED or (isinstance(listed, dict) and item in listed):
            return True
        reason = f"{title} beyond the first {MOST_LISTED:,}: counted only"
        known = self.beyond.setdefault(
            reason, Dropped(reason, 0, record.line, _shown(item), "dropped")
        )
        known.count += 1
        return False

    def _artifact(self, record: LogRecord) -> None:
        summary, name = self.summary, record.name
        self._count(f"{ARTIFACT}:{name}")
        if name == GRAPH_BREAK:
            reason = record.payload_text[:MAX_REASON]
            if self._room(summary.graph_breaks, reason, "graph breaks", record):
                summary.graph_breaks.append(GraphBreak(record.compile_id, reason, record.line))
        elif name == RECOMPILED:
            self._recompile_reason(record)
        elif name == RUNNABLE and summary.torch_version is None:
            self._versions(record.payload_text)

    def _restarts(self, compilation: Compilation, record: LogRecord) -> None:
        for reason in compilation.restart_reasons:
            if self._room(self.summary.graph_breaks, reason, "graph breaks", record):
                graph_break = GraphBreak(record.compile_id, reason[:MAX_REASON], record.line)
                self.summary.graph_breaks.append(graph_break)

    def _versions(self, text: str) -> None:
        for pattern, attribute in (
            (_VERSION, "torch_version"), (_GIT, "torch_git"), (_GPU, "device_name"),
        ):  # fmt: skip
            match = pattern.search(text)
            if match:
                setattr(self.summary, attribute, match.group(1))

    def _recompile_reason(self, record: LogRecord) -> None:
        """Reads the reason of a recompile, which precedes the compile's start."""
        reason = record.payload_text[:MAX_REASON]
        self._recompile(record, reason)

    def _start(self, record: LogRecord) -> None:
        """Counts a frame's compiles after the first as recompiles: older logs have no reasons.
        Restarts of one compile are attempts, not recompiles."""
        frame = (record.compile_id or "").rpartition("/")
        if frame[2].isdecimal() and int(frame[2]) > 0:
            self._recompile(record, "")

    def _recompile(self, record: LogRecord, reason: str) -> None:
        if record.compile_id is None:
            return
        known = self.recompiles.get(record.compile_id)
        if known is None:
            if self._room(self.recompiles, record.compile_id, "recompiles", record):
                recompile = Recompile(record.compile_id, reason, record.line)
                self.recompiles[record.compile_id] = recompile
        elif reason and reason not in known.reason:
            known.reason = f"{known.reason}\n{reason}".strip()[:MAX_REASON]

    def _metrics(self, record: LogRecord) -> None:
        metrics = record.body if isinstance(record.body, dict) else {}
        self.summary.triton_version = self.summary.triton_version or _text(
            metrics.get("triton_version")
        )
        backward = record.kind == BACKWARD_METRICS
        compilation = Compilation(
            compile_id=record.compile_id or _text(metrics.get("compile_id")),
            backward=backward,
            function=_text(metrics.get("co_name")),
            file=_text(metrics.get("co_filename")),
            first_line=integer(metrics.get("co_firstlineno")),
            seconds=_seconds(metrics, backward),
            backend_seconds=figure(metrics.get("backend_compile_time_s")),
            inductor_seconds=figure(metrics.get("inductor_compile_time_s")),
            fail_type=_text(metrics.get("fail_type")),
            fail_reason=_cut(metrics.get("fail_reason")),
            restart_reasons=_texts(metrics.get("restart_reasons")),
        )
        if not has_break_records(metrics):
            self._restarts(compilation, record)
        if self._room(self.summary.compilations, compilation.compile_id, "compiles", record):
            self.summary.compilations.append(compilation)


# Names of the whole compile's time; the first one present counts.
_FORWARD_SECONDS = (
    "entire_frame_compile_time_s", "dynamo_cumulative_compile_time_us", "duration_us",
    "backend_compile_time_s", "inductor_compile_time_s",
)  # fmt: skip
_BACKWARD_SECONDS = (
    "backward_cumulative_compile_time_us", "duration_us", "inductor_compile_time_s",
    "inductor_cumulative_compile_time_us",
)  # fmt: skip


def _seconds(metrics: dict[str, Any], backward: bool) -> float | None:
    for name in _BACKWARD_SECONDS if backward else _FORWARD_SECONDS:
        value = figure(metrics.get(name))
        if value is not None:
            return value / 1e6 if name.endswith("_us") else value
    return None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _cut(value: object) -> str | None:
    return value[:MAX_REASON] if isinstance(value, str) else None


def _shown(value: object) -> str:
    return str(value)[:EXAMPLE]


def _texts(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
