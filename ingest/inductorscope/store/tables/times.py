"""Tables of profiles' kernels and events, and of what lines and nodes of the code cost."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from inductorscope.store.tables.models import Base


class TraceKernel(Base):
    """All runs of one kernel in a trace that one operator launched from one graph; of a trace
    without device work, all runs of one operator, without what it called itself."""

    __tablename__ = "trace_kernels"
    __table_args__ = (Index("ix_trace_kernels_profile_id_total_us", "profile_id", "total_us"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    profile_id: Mapped[int] = mapped_column(ForeignKey("profiles.id", ondelete="CASCADE"))
    position: Mapped[int]
    """What events call it by."""
    name: Mapped[str]
    category: Mapped[str]
    """As `analyze.time.categories` has it."""
    op: Mapped[str | None]
    """The operator that launched it."""
    region: Mapped[int | None]
    """Index into the trace's compiled graphs."""
    joined: Mapped[str | None]
    """How its launch was found."""
    calls: Mapped[int]
    total_us: Mapped[float]
    min_us: Mapped[float | None]
    max_us: Mapped[float | None]
    kernel_id: Mapped[int | None] = mapped_column(
        ForeignKey("kernels.id", ondelete="SET NULL"), index=True
    )
    """The kernel of the run's code, where known."""


class TraceChunk(Base):
    """Some thousands of a trace's events in the order of time, packed in columns (see
    `store.trace_events`)."""

    __tablename__ = "trace_chunks"

    profile_id: Mapped[int] = mapped_column(
        ForeignKey("profiles.id", ondelete="CASCADE"), primary_key=True
    )
    number: Mapped[int] = mapped_column(primary_key=True)
    first: Mapped[int]
    """Place of its first event among all."""
    count: Mapped[int]
    longest_us: Mapped[float]
    payload: Mapped[bytes]


class LineCost(Base):
    """What a line of the user's code costs a step; the row without a path holds what no line is
    known for, so that the shared times of a run sum to its kernels' time."""

    __tablename__ = "line_costs"

    id: Mapped[int] = mapped_column(primary_key=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), index=True)
    path: Mapped[str | None]
    line: Mapped[int | None]
    kernels: Mapped[int]
    inclusive_us: Mapped[float]
    """Of all kernels that it is part of."""
    shared_us: Mapped[float]
    """Its share of them, by the bytes that its nodes move."""
    parts: Mapped[list[Any]]
    """[number of the kernel's row, shared µs], the longest first."""


class NodeCost(Base):
    """The same of an FX node."""

    __tablename__ = "node_costs"

    id: Mapped[int] = mapped_column(primary_key=True)
    graph_id: Mapped[int] = mapped_column(ForeignKey("graphs.id", ondelete="CASCADE"), index=True)
    name: Mapped[str]
    target: Mapped[str]
    line: Mapped[int]
    kernels: Mapped[int]
    inclusive_us: Mapped[float]
    shared_us: Mapped[float]
