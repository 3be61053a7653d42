"""The tables. One declarative model each; nothing here opens a connection.

A change here needs a revision: `python -m inductorscope.store.database.revise "what changed"`.

Names avoid those of the job engine, whose tables share the SQLite file (`queues`, `streams`,
`notifications`, `workflow_*`, `operation_*`).
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, ClassVar

from sqlalchemy import (
    JSON,
    BigInteger,
    DateTime,
    Dialect,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Text,
    TypeDecorator,
    UniqueConstraint,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

NAMES = {
    "ix": "ix_%(column_0_label)s",
    "uq": "uq_%(table_name)s_%(column_0_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}

JsonObject = dict[str, Any]

# Byte counts pass 2³¹; SQLite's own integer is wide enough and must be called so for row ids.
WideInteger = BigInteger().with_variant(Integer, "sqlite")


class Instant(TypeDecorator[datetime]):
    """A moment, in UTC on both databases: SQLite would hand back a time without its zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("A stored time needs its time zone.")
        return value.astimezone(UTC)

    def process_result_value(self, value: object, dialect: Dialect) -> datetime | None:
        if not isinstance(value, datetime):
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Base(DeclarativeBase):
    metadata = MetaData(naming_convention=NAMES)
    type_annotation_map: ClassVar[dict[Any, Any]] = {
        JsonObject: JSON,
        list[Any]: JSON,
        datetime: Instant(),
        bytes: LargeBinary,
        int: WideInteger,
        str: Text(),
    }


READING, COMPLETE = "reading", "complete"
"""States of a run."""


class Run(Base):
    """One upload, ingest or capture. Its rows appear while it is being read; `state` says so."""

    __tablename__ = "runs"

    id: Mapped[str] = mapped_column(String(16), primary_key=True)
    """First 16 hex digits of the content digest: the same files give the same run everywhere."""
    content_digest: Mapped[str] = mapped_column(String(64), unique=True)
    name: Mapped[str] = mapped_column(index=True)
    tags: Mapped[list[Any]]
    origin: Mapped[str]
    """'capture', 'upload' or 'ingest'."""
    state: Mapped[str] = mapped_column(default="complete")
    """'reading' while parts are still to come, then 'complete'."""
    reader: Mapped[str | None]
    """Who reads it: only they may add to it, and what they leave unfinished is taken away."""
    read_at: Mapped[datetime | None]
    """When the reader last wrote."""
    step: Mapped[str | None]
    """What is being read, in words."""
    created_at: Mapped[datetime] = mapped_column(index=True)
    torch_version: Mapped[str | None]
    torch_git: Mapped[str | None]
    device_kind: Mapped[str | None]
    """'cpu', 'cuda', …; None when nothing in the files tells."""
    device_name: Mapped[str | None]
    graph_count: Mapped[int]
    kernel_count: Mapped[int]
    """Distinct generated kernels."""
    graph_breaks: Mapped[int | None]
    recompiles: Mapped[int | None]
    compile_seconds: Mapped[float | None]
    eager_ms: Mapped[float | None]
    compiled_ms: Mapped[float | None]
    timings: Mapped[JsonObject]
    """Eager and compiled: median, spread, count and the samples, in milliseconds."""
    environment: Mapped[JsonObject]
    """Options, configuration and environment that were recorded with the run."""
    report: Mapped[JsonObject]
    """What was read: {"files": [...], "logs": [...], "dropped": [...]} (see `reading.report`)."""
    dropped_count: Mapped[int] = mapped_column(default=0)
    """Things that could not be read, summed: the list of runs must not load reports."""
    failure: Mapped[str | None]
    """What did not succeed, capture or compile, as a sentence."""
    bytes_in: Mapped[int]
    bytes_stored: Mapped[int]


class RunSearch(Base):
    """Everything the runs page searches in, lower case, one row a run.

    Apart from `runs`, so that listing runs does not read it.
    """

    __tablename__ = "run_search"

    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    text: Mapped[str]


class Blob(Base):
    """Content, once, whoever uses it."""

    __tablename__ = "blobs"

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    """SHA-256 of the plain content."""
    size: Mapped[int]
    stored_size: Mapped[int]
    encoding: Mapped[str]
    """'zstd', 'identity', or 'parts': frames of zstd between other contents (see `frames`)."""
    frames: Mapped[bytes | None]
    """Where frames and lines begin, packed; None for a content of one frame."""
    data: Mapped[bytes]


class BlobPart(Base):
    """A content that another one is put together from: a log's payload."""

    __tablename__ = "blob_parts"

    blob: Mapped[str] = mapped_column(
        String(64), ForeignKey("blobs.digest", ondelete="CASCADE"), primary_key=True
    )
    part: Mapped[str] = mapped_column(
        String(64), ForeignKey("blobs.digest"), primary_key=True, index=True
    )


class TextFrame(Base):
    """A piece of a text that the full-text index knows; its number is the index's row."""

    __tablename__ = "text_frames"

    id: Mapped[int] = mapped_column(primary_key=True)
    digest: Mapped[str] = mapped_column(
        String(64), ForeignKey("blobs.digest", ondelete="CASCADE"), index=True
    )
    first_line: Mapped[int]
    lines: Mapped[int]


class Graph(Base):
    """One compiled graph: a folder of the debug directory."""

    __tablename__ = "graphs"
    __table_args__ = (UniqueConstraint("run_id", "slug"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), index=True)
    slug: Mapped[str]
    """Unique in its run and fit for a URL."""
    name: Mapped[str]
    """The folder's name, `model__0_forward_1.0`."""
    position: Mapped[int]
    direction: Mapped[str]
    """'forward', 'backward', 'inference' or 'unknown'."""
    aot_id: Mapped[str | None]
    compile_id: Mapped[str | None]
    node_count: Mapped[int]
    kernel_count: Mapped[int]
    call_count: Mapped[int]
    time_us: Mapped[float | None]
    """Kernel time of one step that the profile attributes to this graph."""
    wrapper_first: Mapped[int | None]
    wrapper_last: Mapped[int | None]
    """Lines of the output code that hold the wrapper."""
    sources: Mapped[JsonObject] = mapped_column(default=dict)
    """Path of a source file → nodes that come from it."""


class Artifact(Base):
    """A stored file of a run, in the role it plays."""

    __tablename__ = "artifacts"
    # An artifact's number is part of addresses people keep: never given out twice.
    __table_args__ = {"sqlite_autoincrement": True}  # noqa: RUF012

    id: Mapped[int] = mapped_column(primary_key=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), index=True)
    graph_id: Mapped[int | None] = mapped_column(
        ForeignKey("graphs.id", ondelete="CASCADE"), index=True
    )
    role: Mapped[str]
    path: Mapped[str]
    """As it was called in the upload, or on the user's machine for sources."""
    digest: Mapped[str] = mapped_column(ForeignKey("blobs.digest"), index=True)
    size: Mapped[int]
    line_count: Mapped[int | None]
    derived: Mapped[bool] = mapped_column(default=False)
    """True for text put together from other files (a source rebuilt from stack comments)."""


class GraphNodes(Base):
    """What pages take whole, packed (see `store.nodes`): the nodes of one stage of a graph, the
    arguments of its calls, what its kernels' metadata says."""

    __tablename__ = "graph_nodes"

    graph_id: Mapped[int] = mapped_column(
        ForeignKey("graphs.id", ondelete="CASCADE"), primary_key=True
    )
    stage: Mapped[str] = mapped_column(primary_key=True)
    count: Mapped[int]
    payload: Mapped[bytes]


class LogEntry(Base):
    """One record of a TORCH_TRACE log; of the most numerous kinds only their number is kept."""

    __tablename__ = "log_entries"
    __table_args__ = (Index("ix_log_entries_run_id_compile_id", "run_id", "compile_id"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    log: Mapped[str]
    """Path of the log in the upload."""
    line: Mapped[int]
    lines: Mapped[int]
    kind: Mapped[str]
    name: Mapped[str | None]
    """Which artifact."""
    compile_id: Mapped[str | None]
    attempt: Mapped[int | None]
    rank: Mapped[int | None]
    pid: Mapped[int]
    artifact_id: Mapped[int | None] = mapped_column(
        ForeignKey("artifacts.id", ondelete="SET NULL"), index=True
    )
    """The payload."""


class Kernel(Base):
    """A kernel that a graph's code defines (generated) or calls (extern)."""

    __tablename__ = "kernels"
    __table_args__ = (UniqueConstraint("graph_id", "name"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    graph_id: Mapped[int] = mapped_column(ForeignKey("graphs.id", ondelete="CASCADE"), index=True)
    name: Mapped[str]
    kind: Mapped[str]
    """'cpp', 'triton', 'template', 'extern', …"""
    category: Mapped[str]
    """'pointwise', 'reduction', 'persistent reduction', 'template', 'extern', …"""
    first_line: Mapped[int | None]
    last_line: Mapped[int | None]
    call_count: Mapped[int]
    time_us: Mapped[float | None]
    """Time of one step, all calls; None when no profile names it."""
    time_calls: Mapped[float | None]
    """Calls of one step that the profile saw."""
    time_source: Mapped[str | None]
    """How the time was joined to this kernel, in words."""


class KernelCall(Base):
    __tablename__ = "kernel_calls"
    __table_args__ = (Index("ix_kernel_calls_permalink", "permalink"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    kernel_id: Mapped[int] = mapped_column(ForeignKey("kernels.id", ondelete="CASCADE"), index=True)
    graph_id: Mapped[int] = mapped_column(ForeignKey("graphs.id", ondelete="CASCADE"), index=True)
    handle: Mapped[int]
    """The number Inductor gave the call, or its position when the code does not say."""
    handle_known: Mapped[bool]
    line: Mapped[int]
    number: Mapped[int]
    """Which of the graph's packed calls has its arguments and FX nodes (`store.nodes`)."""
    permalink: Mapped[str] = mapped_column(String(16))
    """Derived from the code's digest, the kernel's name and the handle."""


class Links(Base):
    """All line references of one graph, packed (see `store.links`)."""

    __tablename__ = "links"

    graph_id: Mapped[int] = mapped_column(
        ForeignKey("graphs.id", ondelete="CASCADE"), primary_key=True
    )
    engine: Mapped[str]
    payload: Mapped[bytes]
    """zstd of the JSON the API answers with."""
    coverage: Mapped[JsonObject]
    notes: Mapped[list[Any]]
    """What could not be linked, and why, in sentences."""


class Profile(Base):
    """One profiled execution: eager or compiled."""

    __tablename__ = "profiles"

    id: Mapped[int] = mapped_column(primary_key=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), index=True)
    label: Mapped[str]
    """'eager', 'compiled', or the file's name when it tells neither."""
    device_kind: Mapped[str | None]
    steps: Mapped[int | None]
    artifact_id: Mapped[int | None] = mapped_column(
        ForeignKey("artifacts.id", ondelete="SET NULL"), index=True
    )
    """The Chrome trace to download."""
    facts: Mapped[JsonObject]


class ProfilerRow(Base):
    """One row of a `key_averages` table. Times are microseconds over all steps of the profile."""

    __tablename__ = "profiler_rows"

    id: Mapped[int] = mapped_column(primary_key=True)
    profile_id: Mapped[int] = mapped_column(
        ForeignKey("profiles.id", ondelete="CASCADE"), index=True
    )
    name: Mapped[str]
    category: Mapped[str]
    """'kernel' for device work, 'cpu_op', 'annotation', …"""
    calls: Mapped[int]
    self_cpu_us: Mapped[float | None]
    cpu_us: Mapped[float | None]
    self_device_us: Mapped[float | None]
    device_us: Mapped[float | None]


class Upload(Base):
    """An upload under way: its files lie in the data folder until a job has read them."""

    __tablename__ = "uploads"

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    name: Mapped[str]
    tags: Mapped[list[Any]]
    files: Mapped[list[Any]]
    """[{"path", "size"}], in the order the client named them."""
    created_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]
    job_id: Mapped[str | None] = mapped_column(String(40))


class Job(Base):
    """What somebody asked for and how far it is; the job engine's own rows stay behind it."""

    __tablename__ = "jobs"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    kind: Mapped[str]
    """'ingest', 'capture' or 'benchmark'."""
    title: Mapped[str]
    spec: Mapped[JsonObject]
    state: Mapped[str] = mapped_column(index=True)
    """'queued', 'running', 'done', 'failed', 'cancelled'."""
    step: Mapped[str]
    """What it is doing, in words."""
    done: Mapped[int]
    total: Mapped[int | None]
    unit: Mapped[str | None]
    """Unit of done and total: 'bytes', 'steps', 'files'."""
    message: Mapped[str | None]
    """Why it failed or was cancelled, or what came out, for a person."""
    run_id: Mapped[str | None] = mapped_column(String(16), index=True)
    duplicate: Mapped[bool] = mapped_column(default=False)
    """True when the content was here already and `run_id` names the earlier run."""
    attempts: Mapped[int] = mapped_column(default=0)
    worker: Mapped[str | None]
    created_at: Mapped[datetime] = mapped_column(index=True)
    started_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    cancel_requested: Mapped[bool] = mapped_column(default=False)


class JobEvent(Base):
    """The log of a job, line by line."""

    __tablename__ = "job_events"

    id: Mapped[int] = mapped_column(primary_key=True)
    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), index=True)
    at: Mapped[datetime]
    level: Mapped[str]
    """'info', 'warning' or 'error'."""
    text: Mapped[str]


class Worker(Base):
    """A living worker process: its heartbeat, and what it may run."""

    __tablename__ = "worker_processes"

    id: Mapped[str] = mapped_column(String(80), primary_key=True)
    """Executor id: unique among living processes, kept across a restart of the same slot."""
    host: Mapped[str]
    pid: Mapped[int]
    started_at: Mapped[datetime]
    beat_at: Mapped[datetime]
