"""The tables of profiles' kernels and timelines, and of the costs of lines and nodes."""

from typing import Any

from sqlalchemy import Index
from sqlalchemy.orm import Mapped, mapped_column

from inductorscope.analyze.timeline.facts import TimelineFacts
from inductorscope.store.tables.models import Base, Numbered, part_of, refers_to


class TraceKernel(Numbered):
    """All executions of one kernel that one operator of one graph launched in a trace. In a trace
    without device work: all executions of one operator, without the time of what it calls."""

    __tablename__ = "trace_kernels"
    __table_args__ = (Index("ix_trace_kernels_profile_id_total_us", "profile_id", "total_us"),)

    profile_id: Mapped[int] = part_of("profiles")
    position: Mapped[int]
    """Number by which bars of the timeline refer to it."""
    name: Mapped[str]
    category: Mapped[str]
    """Category, from `analyze.time.kernel_names`."""
    op: Mapped[str | None]
    """Operator that launched it."""
    region: Mapped[int | None]
    """Index into the trace's compiled graphs."""
    joined: Mapped[str | None]
    """How its launch was identified."""
    calls: Mapped[int]
    total_us: Mapped[float]
    min_us: Mapped[float | None]
    max_us: Mapped[float | None]
    kernel_id: Mapped[int | None] = refers_to("kernels")
    """Kernel of the run's code, if known."""


class Timeline(Base):
    """The timeline of a trace: its tracks, categories and levels."""

    __tablename__ = "timelines"

    profile_id: Mapped[int] = part_of("profiles", primary_key=True)
    facts: Mapped[TimelineFacts]


class TimelineChunk(Base):
    """Some thousands of bars of one level of a timeline, sorted by row and time and packed in
    columns; or, of level -1, names."""

    __tablename__ = "timeline_chunks"

    profile_id: Mapped[int] = part_of("profiles", primary_key=True)
    level: Mapped[int] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    first: Mapped[int]
    """Number of its first bar or name."""
    count: Mapped[int]
    first_row: Mapped[int]
    last_row: Mapped[int]
    begin_us: Mapped[float]
    end_us: Mapped[float]
    longest_us: Mapped[float]
    """Duration of its longest bar."""
    sums: Mapped[list[Any]]
    """For single events: [category, events, µs] (see `analyze.timeline.bars`)."""
    payload: Mapped[bytes]


class CallTime(Base):
    """The time of a kernel call per step, where a trace has it. The calls of a kernel sum to the
    kernel's time."""

    __tablename__ = "call_times"

    call_id: Mapped[int] = part_of("kernel_calls", primary_key=True)
    time_us: Mapped[float]
    """Mean over all steps."""
    known: Mapped[str]
    """'measured' or 'shared' (see `analyze.time.costs`)."""
    runs: Mapped[int]
    median_us: Mapped[float | None]
    p10_us: Mapped[float | None]
    p90_us: Mapped[float | None]
    instances: Mapped[list[Any] | None]
    """Means of its places in a run, if its subgraph is called several times."""


class LineCost(Numbered):
    """The cost of a line of the user's code per step. The row without a path holds the costs of
    unknown lines, so that the shared times of a run sum to its kernels' time."""

    __tablename__ = "line_costs"

    run_id: Mapped[str] = part_of("runs", index=True)
    path: Mapped[str | None]
    line: Mapped[int | None]
    kernels: Mapped[int]
    inclusive_us: Mapped[float]
    """Time of all kernels that it is part of."""
    shared_us: Mapped[float]
    """Its share of their time, in proportion to the bytes that its nodes move."""
    parts: Mapped[list[Any]]
    """[id of the kernel's row, shared µs], longest first."""


class NodeCost(Numbered):
    """The cost of an FX node per step, like `LineCost`."""

    __tablename__ = "node_costs"

    graph_id: Mapped[int] = part_of("graphs", index=True)
    name: Mapped[str]
    target: Mapped[str]
    line: Mapped[int]
    kernels: Mapped[int]
    inclusive_us: Mapped[float]
    shared_us: Mapped[float]
