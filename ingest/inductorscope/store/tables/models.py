"""The main tables, one declarative model each; nothing here opens a connection.

A change here needs a revision: `python -m inductorscope.store.database.revise "what changed"`.

Names avoid those of the job engine, whose tables share the SQLite file (`queues`, `streams`,
`notifications`, `workflow_*`, `operation_*`).
"""

from datetime import UTC, datetime
from typing import Any, ClassVar

import msgspec
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
    text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, MappedColumn, mapped_column

from inductorscope.analyze.time.facts import ProfileFacts
from inductorscope.analyze.timeline.facts import TimelineFacts
from inductorscope.store.database.storable import JsonObject
from inductorscope.store.report import Report

NAMES = {
    "ix": "ix_%(column_0_label)s",
    "uq": "uq_%(table_name)s_%(column_0_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}
# Byte counts exceed 2³¹; SQLite's INTEGER is wide enough, and row ids require that type.
WideInteger = BigInteger().with_variant(Integer, "sqlite")


class Instant(TypeDecorator[datetime]):
    """A time in UTC on both databases: SQLite alone would return it without its zone."""

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


class StructColumn(TypeDecorator[msgspec.Struct]):
    """A struct as JSON. What an earlier version stored in a form that no longer fits reads as the
    struct without values, so its fields need defaults."""

    impl = JSON
    cache_ok = True

    def __init__(self, of: type[msgspec.Struct]) -> None:
        super().__init__()
        self.of = of

    def process_result_value(self, value: object, dialect: Dialect) -> msgspec.Struct:
        try:
            return msgspec.convert(value, self.of)
        except msgspec.ValidationError:
            return self.of()


class Base(DeclarativeBase):
    metadata = MetaData(naming_convention=NAMES)
    type_annotation_map: ClassVar[dict[Any, Any]] = {
        JsonObject: JSON,
        list[Any]: JSON,
        ProfileFacts: StructColumn(ProfileFacts),
        Report: StructColumn(Report),
        TimelineFacts: StructColumn(TimelineFacts),
        datetime: Instant(),
        bytes: LargeBinary,
        int: WideInteger,
        str: Text(),
    }


class Numbered(Base):
    """A table whose rows have numbers."""

    __abstract__ = True

    id: Mapped[int] = mapped_column(primary_key=True, sort_order=-1)


def part_of(
    table: str, *, primary_key: bool = False, index: bool | None = None, unique: bool | None = None
) -> MappedColumn[Any]:
    """The id of the row that a row is part of, and is deleted with."""
    to = ForeignKey(f"{table}.id", ondelete="CASCADE")
    return mapped_column(to, primary_key=primary_key, index=index, unique=unique)


def refers_to(table: str) -> MappedColumn[Any]:
    """The id of another row, which is forgotten when that one is deleted."""
    return mapped_column(ForeignKey(f"{table}.id", ondelete="SET NULL"), index=True)


READING, COMPLETE = "reading", "complete"
"""States of a run."""
TRY, TRIAL, KEPT = "try", "trial", "kept"
"""Origins of runs of the playground and of trials, and the tag of those that are never too old."""
UNLISTED = (TRY, TRIAL)


class Run(Base):
    """An upload, ingest or capture. Rows appear while it is being read; see `state`."""

    __tablename__ = "runs"
    # Only runs in the trash: SQLite would use an index of all runs for lists, instead of the one in
    # order of time.
    __table_args__ = (
        Index(
            "ix_runs_trashed_at", "trashed_at", sqlite_where=text("trashed_at IS NOT NULL"),
            postgresql_where=text("trashed_at IS NOT NULL"),
        ),
    )  # fmt: skip

    id: Mapped[str] = mapped_column(String(16), primary_key=True)
    """First 16 hex digits of the content digest: the same files give the same id everywhere."""
    content_digest: Mapped[str] = mapped_column(String(64), unique=True)
    name: Mapped[str] = mapped_column(index=True)
    tags: Mapped[list[Any]]
    origin: Mapped[str]
    """'capture', 'upload', 'ingest', 'try' or 'trial'."""
    state: Mapped[str] = mapped_column(default="complete")
    """'reading' until all parts are stored, then 'complete'."""
    reader: Mapped[str | None]
    """Reader of the run: only it may add to the run. A run that it leaves unfinished is deleted."""
    read_at: Mapped[datetime | None]
    """When the reader last wrote."""
    step: Mapped[str | None]
    """Current step, in words."""
    created_at: Mapped[datetime] = mapped_column(index=True)
    torch_version: Mapped[str | None]
    torch_git: Mapped[str | None]
    device_kind: Mapped[str | None]
    """'cpu', 'cuda', …; None if the files do not say."""
    device_name: Mapped[str | None]
    graph_count: Mapped[int]
    kernel_count: Mapped[int]
    """Number of distinct generated kernels."""
    graph_breaks: Mapped[int | None]
    recompiles: Mapped[int | None]
    compile_seconds: Mapped[float | None]
    eager_ms: Mapped[float | None]
    compiled_ms: Mapped[float | None]
    timings: Mapped[JsonObject]
    """Eager and compiled times in milliseconds: median, spread, count and samples."""
    environment: Mapped[JsonObject]
    """Options, configuration and environment recorded with the run."""
    report: Mapped[Report]
    dropped_count: Mapped[int] = mapped_column(default=0)
    """Number of problems, so that the list of runs need not load reports."""
    failure: Mapped[str | None]
    """What failed, the capture or a compile, as a sentence."""
    bytes_in: Mapped[int]
    bytes_stored: Mapped[int]
    trashed_at: Mapped[datetime | None]
    """When it was deleted; it stays in the trash for a while (`store.trash`)."""


class RunSearch(Numbered):
    """The text of a run that searches match, in lower case, one row a run.

    Separate from `runs`, so that listing runs does not read it. An index knows its sequences of
    three characters: SQLite's is the FTS5 table `run_index`, which triggers keep up to date.
    """

    __tablename__ = "run_search"

    run_id: Mapped[str] = part_of("runs", unique=True)
    text: Mapped[str]


class Blob(Base):
    """A content, stored once however many artifacts use it."""

    __tablename__ = "blobs"

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    """SHA-256 of the plain content."""
    size: Mapped[int]
    stored_size: Mapped[int]
    encoding: Mapped[str]
    """'zstd', 'identity', or 'parts': zstd frames between other contents (see `frames`)."""
    frames: Mapped[bytes | None]
    """Index of frames and lines, packed; None for a content of one frame."""
    data: Mapped[bytes]


class BlobPart(Base):
    """A content that is part of another: a log's payload."""

    __tablename__ = "blob_parts"

    blob: Mapped[str] = mapped_column(
        String(64), ForeignKey("blobs.digest", ondelete="CASCADE"), primary_key=True
    )
    part: Mapped[str] = mapped_column(
        String(64), ForeignKey("blobs.digest"), primary_key=True, index=True
    )


class TextFrame(Numbered):
    """A piece of a text in the full-text index; its id is the row of the index."""

    __tablename__ = "text_frames"

    digest: Mapped[str] = mapped_column(
        String(64), ForeignKey("blobs.digest", ondelete="CASCADE"), index=True
    )
    first_line: Mapped[int]
    lines: Mapped[int]


class Graph(Numbered):
    """A compiled graph: a folder of the debug directory."""

    __tablename__ = "graphs"
    __table_args__ = (UniqueConstraint("run_id", "slug"),)

    run_id: Mapped[str] = part_of("runs", index=True)
    slug: Mapped[str]
    """Unique in its run and safe in a URL."""
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
    """Kernel time per step that the profile attributes to this graph."""
    wrapper_first: Mapped[int | None]
    wrapper_last: Mapped[int | None]
    """First and last line of the wrapper in the output code."""
    sources: Mapped[JsonObject] = mapped_column(default=dict)
    """Path of a source file → number of nodes from it."""


class Artifact(Numbered):
    """A stored file of a run, with its role."""

    __tablename__ = "artifacts"
    # An artifact's id is part of permanent addresses, so it is never reused.
    __table_args__ = {"sqlite_autoincrement": True}  # noqa: RUF012

    run_id: Mapped[str] = part_of("runs", index=True)
    graph_id: Mapped[int | None] = part_of("graphs", index=True)
    role: Mapped[str]
    path: Mapped[str]
    """Path in the upload, or on the user's machine for sources."""
    digest: Mapped[str] = mapped_column(ForeignKey("blobs.digest"), index=True)
    size: Mapped[int]
    line_count: Mapped[int | None]
    derived: Mapped[bool] = mapped_column(default=False)
    """True for a text assembled from other files (a source rebuilt from stack comments)."""


class GraphNodes(Base):
    """Data that pages load whole, packed (see `store.runs.nodes`): the nodes of one stage of a
    graph, the arguments of its calls, the metadata of its kernels."""

    __tablename__ = "graph_nodes"

    graph_id: Mapped[int] = part_of("graphs", primary_key=True)
    stage: Mapped[str] = mapped_column(primary_key=True)
    count: Mapped[int]
    payload: Mapped[bytes]


class LogEntry(Numbered):
    """A record of a TORCH_TRACE log; the most frequent kinds are only counted."""

    __tablename__ = "log_entries"
    __table_args__ = (Index("ix_log_entries_run_id_compile_id", "run_id", "compile_id"),)

    run_id: Mapped[str] = part_of("runs")
    log: Mapped[str]
    """Path of the log in the upload."""
    line: Mapped[int]
    lines: Mapped[int]
    kind: Mapped[str]
    name: Mapped[str | None]
    """Kind of artifact."""
    compile_id: Mapped[str | None]
    attempt: Mapped[int | None]
    rank: Mapped[int | None]
    pid: Mapped[int]
    artifact_id: Mapped[int | None] = refers_to("artifacts")
    """The payload."""


class Kernel(Numbered):
    """A kernel that a graph's code defines (generated) or only calls (extern)."""

    __tablename__ = "kernels"
    __table_args__ = (
        UniqueConstraint("graph_id", "name"),
        Index(
            "ix_kernels_digest", "digest", sqlite_where=text("digest IS NOT NULL"),
            postgresql_where=text("digest IS NOT NULL"),
        ),
    )  # fmt: skip

    graph_id: Mapped[int] = part_of("graphs", index=True)
    name: Mapped[str]
    kind: Mapped[str]
    """'cpp', 'triton', 'template', 'extern', …"""
    category: Mapped[str]
    """'pointwise', 'reduction', 'persistent reduction', 'template', 'extern', …"""
    first_line: Mapped[int | None]
    last_line: Mapped[int | None]
    call_count: Mapped[int]
    time_us: Mapped[float | None]
    """Time of all calls per step; None if no profile names it."""
    time_calls: Mapped[float | None]
    """Calls per step in the profile."""
    time_source: Mapped[str | None]
    """How the time was attributed to this kernel, in words."""
    digest: Mapped[int | None]
    """Hash of its source, or of an extern kernel's name; the same kernel has the same hash in other
    runs. None in runs of earlier versions."""


class KernelCall(Numbered):
    __tablename__ = "kernel_calls"
    __table_args__ = (Index("ix_kernel_calls_permalink", "permalink"),)

    kernel_id: Mapped[int] = part_of("kernels", index=True)
    graph_id: Mapped[int] = part_of("graphs", index=True)
    handle: Mapped[int]
    """Inductor's number for the call, or its position if the code has none."""
    handle_known: Mapped[bool]
    line: Mapped[int]
    number: Mapped[int]
    """Index into the graph's packed calls, with arguments and FX nodes (`store.runs.nodes`)."""
    permalink: Mapped[str] = mapped_column(String(16))
    """Permalink: derived from the code's digest, the kernel's name and the handle."""


class Links(Base):
    """All references of a graph, packed (see `store.runs.links`)."""

    __tablename__ = "links"

    graph_id: Mapped[int] = part_of("graphs", primary_key=True)
    engine: Mapped[str]
    payload: Mapped[bytes]
    """The JSON that the API returns, compressed with zstd."""
    coverage: Mapped[JsonObject]
    notes: Mapped[list[Any]]
    """Sentences on what could not be linked, and why."""


class Profile(Numbered):
    """A profiled execution: eager or compiled."""

    __tablename__ = "profiles"

    run_id: Mapped[str] = part_of("runs", index=True)
    label: Mapped[str]
    """'eager', 'compiled', or the file's name if neither is known."""
    device_kind: Mapped[str | None]
    steps: Mapped[int | None]
    artifact_id: Mapped[int | None] = refers_to("artifacts")
    """Chrome trace to download."""
    facts: Mapped[ProfileFacts]


class ProfilerRow(Numbered):
    """A row of a `key_averages` table. Times are microseconds over all steps of the profile."""

    __tablename__ = "profiler_rows"

    profile_id: Mapped[int] = part_of("profiles", index=True)
    name: Mapped[str]
    category: Mapped[str]
    """'kernel' for device work, 'cpu_op', 'annotation', …"""
    calls: Mapped[int]
    self_cpu_us: Mapped[float | None]
    cpu_us: Mapped[float | None]
    self_device_us: Mapped[float | None]
    device_us: Mapped[float | None]


class Upload(Base):
    """An unfinished upload: its files stay in the data folder until a job has read them."""

    __tablename__ = "uploads"

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    name: Mapped[str]
    tags: Mapped[list[Any]]
    files: Mapped[list[Any]]
    """[{"path", "size"}], in the client's order."""
    created_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]
    job_id: Mapped[str | None] = mapped_column(String(40))
    sender: Mapped[str | None]
    """Who sends it (`jobs.sender`); unknown for uploads of earlier versions."""
    size: Mapped[int | None]
    """Announced bytes of all files together; unknown for uploads of earlier versions."""
    person_id: Mapped[int | None]
    project_id: Mapped[int | None]
    """Where its run goes."""


class Job(Base):
    """A requested job and its progress; the job engine has its own tables."""

    __tablename__ = "jobs"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    kind: Mapped[str]
    """'ingest', 'capture' or 'benchmark'."""
    title: Mapped[str]
    spec: Mapped[JsonObject]
    state: Mapped[str] = mapped_column(index=True)
    """'queued', 'running', 'done', 'failed', 'cancelled'."""
    step: Mapped[str]
    """Current step, in words."""
    done: Mapped[int]
    total: Mapped[int | None]
    unit: Mapped[str | None]
    """Unit of done and total: 'bytes', 'steps', 'files'."""
    message: Mapped[str | None]
    """Why it failed or was cancelled, or its outcome, in words."""
    run_id: Mapped[str | None] = mapped_column(String(16), index=True)
    duplicate: Mapped[bool] = mapped_column(default=False)
    """True if the content was already stored; `run_id` names the earlier run."""
    attempts: Mapped[int] = mapped_column(default=0)
    worker: Mapped[str | None]
    created_at: Mapped[datetime] = mapped_column(index=True)
    started_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    cancel_requested: Mapped[bool] = mapped_column(default=False)
    sender: Mapped[str | None]
    """Who asked for it (`jobs.sender`); unknown for jobs of earlier versions."""
    queue: Mapped[str | None]
    """The engine's queue that it waits in; empty means the one for long jobs."""
    person_id: Mapped[int | None] = mapped_column(index=True)
    project_id: Mapped[int | None] = mapped_column(index=True)
    """Where its run goes."""


class JobEvent(Numbered):
    """A line of a job's log."""

    __tablename__ = "job_events"

    job_id: Mapped[str] = part_of("jobs", index=True)
    at: Mapped[datetime]
    level: Mapped[str]
    """'info', 'warning' or 'error'."""
    text: Mapped[str]


class Worker(Base):
    """A running worker process: its heartbeat, and what it may run."""

    __tablename__ = "worker_processes"

    id: Mapped[str] = mapped_column(String(80), primary_key=True)
    """Executor id: unique among running processes, kept across a restart of the same slot."""
    host: Mapped[str]
    pid: Mapped[int]
    started_at: Mapped[datetime]
    beat_at: Mapped[datetime]
    device: Mapped[str | None]
    """A GPU's name, or `CPU`; unknown for workers of earlier versions."""
    torch: Mapped[str | None]
    """Version of torch, if there is one."""


class CompileStory(Base):
    """A part of the story of a run's compiles, packed (see `store.runs.compile_story`)."""

    __tablename__ = "compile_stories"

    run_id: Mapped[str] = part_of("runs", primary_key=True)
    part: Mapped[str] = mapped_column(primary_key=True)
    """`story`, `timeline`, `phases/0`, …"""
    count: Mapped[int]
    payload: Mapped[bytes]


class FoundSecret(Numbered):
    """The number of secrets of one kind removed from a run. Their values are kept nowhere."""

    __tablename__ = "found_secrets"

    run_id: Mapped[str] = part_of("runs", index=True)
    kind: Mapped[str]
    """Name of the kind in `formats.secrets`."""
    count: Mapped[int]
    told: Mapped[bool] = mapped_column(default=False)
    """Whether a server has reported it at startup."""
