"""Summary of a TORCH_TRACE log."""

from collections import Counter
from typing import TypeVar

import msgspec

from inductorscope.formats.code.runnable import compiled_with
from inductorscope.formats.log.kinds import ARTIFACT, BACKWARD_METRICS, METRICS, RUNNABLE
from inductorscope.formats.log.trace_log import EXAMPLE, OTHERS, Dropped, Log, LogRecord

Item = TypeVar("Item", int, str)

MAX_REASON = 4000
"""Most characters of a reason."""
MOST_LISTED = 10_000
"""Most entries of each list; further ones are only counted."""


class LogSummary(msgspec.Struct):
    """Summary of one log."""

    counts: Counter[str] = msgspec.field(default_factory=Counter)
    """Number of records of each kind; artifacts also as `artifact:<name>`. Names beyond the first
    10,000 are counted as `(others)`."""
    torch_version: str | None = None
    torch_git: str | None = None
    device_name: str | None = None
    triton_version: str | None = None
    failure: str | None = None
    """How the first compile failed, as a sentence."""
    compile_ids: list[str] = msgspec.field(default_factory=list)
    """In order of first occurrence."""
    ranks: list[int] = msgspec.field(default_factory=list)
    pids: list[int] = msgspec.field(default_factory=list)
    """Each list has at most 10,000 entries; `dropped` counts the rest."""
    dropped: list[Dropped] = msgspec.field(default_factory=list)


class Summariser:
    """Builds a summary record by record, for callers that read the records too."""

    def __init__(self) -> None:
        self.summary = LogSummary()
        self.compile_ids: dict[str, None] = {}
        self.ranks: dict[int, None] = {}
        self.pids: dict[int, None] = {}
        self.beyond: dict[str, Dropped] = {}

    def finish(self, log: Log) -> LogSummary:
        self.summary.compile_ids = list(self.compile_ids)
        self.summary.ranks = list(self.ranks)
        self.summary.pids = list(self.pids)
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
            self._count(f"{ARTIFACT}:{record.name}")
            if record.name == RUNNABLE and self.summary.torch_version is None:
                for name, value in compiled_with(record.payload_text).items():
                    setattr(self.summary, name, value)
        elif record.kind in {METRICS, BACKWARD_METRICS}:
            self._metrics(record)

    def _count(self, name: str) -> None:
        counts = self.summary.counts
        counts[name if name in counts or len(counts) < MOST_LISTED else OTHERS] += 1

    def _list(self, listed: dict[Item, None], item: Item, title: str, record: LogRecord) -> None:
        """Adds an item to a list that has room for it; otherwise counts it as dropped."""
        if len(listed) < MOST_LISTED:
            listed[item] = None
            return
        reason = f"{title} beyond the first {MOST_LISTED:,}: counted only"
        known = self.beyond.setdefault(
            reason, Dropped(reason, 0, record.line, str(item)[:EXAMPLE], "dropped")
        )
        known.count += 1

    def _metrics(self, record: LogRecord) -> None:
        metrics = record.body if isinstance(record.body, dict) else {}
        summary, triton = self.summary, metrics.get("triton_version")
        if summary.triton_version is None and isinstance(triton, str):
            summary.triton_version = triton
        kind, reason = metrics.get("fail_type"), metrics.get("fail_reason")
        if summary.failure is None and isinstance(kind, str) and kind:
            why = reason[:MAX_REASON] if isinstance(reason, str) and reason else "no reason given"
            compile_id = record.compile_id or metrics.get("compile_id") or "(unnamed)"
            summary.failure = f"Compile {compile_id} failed: {kind}: {why}"
