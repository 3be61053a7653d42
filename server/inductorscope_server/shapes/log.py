"""The TORCH_TRACE logs of a run."""

from __future__ import annotations

from pydantic import Field

from inductorscope_server.shapes.base import RunName, Shape


class LogFile(Shape):
    """One log."""

    path: str
    artifact: int | None
    """The log itself, once it has been read to its end."""
    lines: int | None
    size: int | None
    records: int
    graphs: int | None
    compile_ids: int | None
    ranks: list[int]
    pids: list[int]


class KindRow(Shape):
    """Records of one kind, or artifacts of one name."""

    kind: str
    """`artifact:NAME` for an artifact."""
    count: int
    listed: int
    """How many of them have a row of their own; of kinds that come by the thousand none has."""
    meaning: str | None
    known: bool


class CompileGraph(Shape):
    """A graph that a compile made."""

    slug: str
    direction: str


class CompileRow(Shape):
    """One compile: the records of a log that name it."""

    log: str
    compile_id: str
    rank: int | None
    line: int
    """Of its first record."""
    records: int
    restarts: int
    breaks: int
    """Graph breaks it met."""
    codes: int
    """Output codes."""
    cached: int
    """Hits of the FX graph's and AOTAutograd's caches."""
    error: int | None
    """Line of its error, if it failed."""
    finished: bool
    """Whether its metrics are in the log, which come last."""
    recompile: bool
    graphs: list[CompileGraph]


class RecordRow(Shape):
    """One record."""

    id: int
    log: str
    line: int
    lines: int
    kind: str
    name: str | None
    """Which artifact."""
    known: bool
    compile_id: str | None
    attempt: int | None
    rank: int | None
    pid: int
    artifact: int | None
    """Its payload, as a stored file."""
    path: str | None
    size: int | None


class Chosen(Shape):
    """Which records were asked for; empty where any will do."""

    log: str
    compile: str
    kind: str
    rank: int | None


class LogPage(Shape):
    """Log `/runs/{run}/log`."""

    run: RunName
    reading: bool
    """Whether records are still to come."""
    step: str | None
    chosen: Chosen
    after: int
    """The cursor that was asked for, 0 for the first page; the others list no compiles."""
    logs: list[LogFile]
    kinds: list[KindRow]
    compiles: list[CompileRow]
    more_compiles: bool
    records: list[RecordRow]
    total: int = Field(description="Records that match, counted up to a cap.")
    total_capped: bool
    next_cursor: int | None
