"""A run before it is stored: plain records made by the readers of its files.

Parts refer to each other as objects; rows get their ids when they are inserted.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from inductorscope.analyze.time.facts import ProfileFacts
from inductorscope.analyze.timeline.facts import TimelineFacts
from inductorscope.formats.printed.key_averages import KeyAverageRow
from inductorscope.store.contents.content import Content
from inductorscope.store.database.storable import JsonObject
from inductorscope.store.report import Report

if TYPE_CHECKING:  # it imports numpy, which few programs that name a draft need
    from inductorscope.analyze.time.call_times import CallTime


class ArtifactDraft(msgspec.Struct, eq=False):
    role: str
    path: str
    digest: str
    size: int
    content: Content | None = None
    """None if the content is already stored."""
    line_count: int | None = None
    derived: bool = False
    graph: GraphDraft | None = None


def artifact_of(
    role: str,
    path: str,
    content: Content,
    line_count: int | None = None,
    *,
    derived: bool = False,
    graph: GraphDraft | None = None,
) -> ArtifactDraft:
    return ArtifactDraft(
        role, path, content.digest, content.size, content,
        line_count=line_count, derived=derived, graph=graph,
    )  # fmt: skip


class CallDraft(msgspec.Struct):
    handle: int
    handle_known: bool
    line: int
    arguments: list[str]
    fx_nodes: list[str]
    """Names of the post-grad nodes that this call computes, from provenance or comments."""
    permalink: str
    runs_at: list[int]
    """Its places among all calls of one run of the wrapper: several, if a subgraph has it that is
    called several times."""
    graph_id: int | None = None
    kernel_id: int | None = None
    number: int = 0
    """Index among the calls of its graph."""


class KernelDraft(msgspec.Struct, eq=False):
    name: str
    kind: str
    category: str
    first_line: int | None
    last_line: int | None
    facts: JsonObject
    """Its metadata: loads, stores, size hints, bytes."""
    calls: list[CallDraft] = msgspec.field(default_factory=list)
    time_us: float | None = None
    time_calls: float | None = None
    time_source: str | None = None
    digest: int | None = None
    """Hash of its source, or of an extern kernel's name."""
    id: int | None = None
    """Id of its row, once stored."""
    graph_id: int | None = None
    stored_calls: int = 0
    """`call_count`, after the calls were dropped from memory."""

    @property
    def call_count(self) -> int:
        """How many calls one run of the wrapper makes."""
        return self.stored_calls or sum(len(call.runs_at) for call in self.calls)


class PackedLinks(msgspec.Struct, frozen=True):
    """All references of a graph as they are stored (`store.runs.links`)."""

    engine: str
    payload: bytes
    coverage: JsonObject
    notes: list[str]


class LogEntryDraft(msgspec.Struct):
    log: str
    line: int
    lines: int
    kind: str
    name: str | None
    compile_id: str | None
    attempt: int | None
    rank: int | None
    pid: int
    artifact_id: int | None = None


class GraphDraft(msgspec.Struct, eq=False):
    slug: str
    name: str
    direction: str
    aot_id: str | None = None
    compile_id: str | None = None
    node_count: int = 0
    time_us: float | None = None
    wrapper_first: int | None = None
    wrapper_last: int | None = None
    sources: dict[str, int] = msgspec.field(default_factory=dict)
    nodes: dict[str, tuple[int, bytes]] = msgspec.field(default_factory=dict)
    """Stage → number of nodes, and the packed nodes (`store.runs.nodes`)."""
    kernels: list[KernelDraft] = msgspec.field(default_factory=list)
    links: PackedLinks | None = None

    stored_kernels: int | None = None
    """`kernel_count`, after the kernels were dropped from memory."""
    call_order: list[tuple[int, int]] = msgspec.field(default_factory=list)
    """Position of the kernel, and number, of each call that one run of the wrapper makes."""
    call_times: dict[int, CallTime] = msgspec.field(default_factory=dict)
    """Number of a call in the graph → its time."""

    @property
    def kernel_count(self) -> int:
        """Number of kernels that its code defines."""
        if self.stored_kernels is not None:
            return self.stored_kernels
        return sum(kernel.kind != "extern" for kernel in self.kernels)

    def drop_stored(self, *, kernels: bool) -> None:
        """Drops data that only rows need; `kernels`: also kernels, if no times will follow."""
        self.stored_kernels = self.kernel_count
        self.nodes, self.links = {}, None
        if not kernels:
            # Calls are numbered kernel by kernel (see `store.runs.runs.fill_graphs`).
            calls = [(at, call) for at, kernel in enumerate(self.kernels) for call in kernel.calls]
            numbered = enumerate(calls)
            order = [(when, at, number) for number, (at, call) in numbered for when in call.runs_at]
            self.call_order = [(at, number) for _, at, number in sorted(order)]
        for kernel in self.kernels:
            kernel.stored_calls, kernel.calls = kernel.call_count, []
            path = kernel.facts.get("kernel_path")
            kernel.facts = {} if path is None else {"kernel_path": path}
        if kernels:
            self.kernels = []


class ProfilerRowDraft(KeyAverageRow, kw_only=True):
    category: str


class TraceKernelDraft(msgspec.Struct):
    position: int
    name: str
    category: str
    op: str | None
    region: int | None
    joined: str | None
    calls: int
    total_us: float
    min_us: float | None
    max_us: float | None
    kernel: KernelDraft | None = None
    """The kernel of the run's code, if known."""

    @property
    def kernel_id(self) -> int | None:
        return self.kernel.id if self.kernel is not None else None


class TimelineChunkDraft(msgspec.Struct):
    """Packed bars of one level of a timeline, or names; `first` is the position of the first."""

    number: int
    first: int
    count: int
    longest_us: float
    payload: bytes
    level: int
    first_row: int = 0
    last_row: int = 0
    begin_us: float = 0.0
    end_us: float = 0.0
    sums: list[list[float]] = []


class TimelineDraft(msgspec.Struct):
    """The events of a trace, laid out."""

    facts: TimelineFacts
    chunks: list[TimelineChunkDraft]


class ProfileDraft(msgspec.Struct, eq=False):
    label: str
    device_kind: str | None
    steps: int | None
    rows: list[ProfilerRowDraft]
    facts: ProfileFacts = msgspec.field(default_factory=ProfileFacts)
    trace: ArtifactDraft | None = None
    kernels: list[TraceKernelDraft] = msgspec.field(default_factory=list)
    """Sums over the kernels of its trace."""
    timeline: TimelineDraft | None = None


class RunDraft(msgspec.Struct):
    content_digest: str
    name: str
    tags: list[str]
    origin: str
    created_at: datetime
    bytes_in: int
    torch_version: str | None = None
    torch_git: str | None = None
    device_kind: str | None = None
    device_name: str | None = None
    graph_breaks: int | None = None
    recompiles: int | None = None
    compile_seconds: float | None = None
    eager_ms: float | None = None
    compiled_ms: float | None = None
    failure: str | None = None
    timings: JsonObject = msgspec.field(default_factory=dict)
    environment: JsonObject = msgspec.field(default_factory=dict)
    report: Report = msgspec.field(default_factory=Report)
    graphs: list[GraphDraft] = msgspec.field(default_factory=list)
    artifacts: list[ArtifactDraft] = msgspec.field(default_factory=list)
    profiles: list[ProfileDraft] = msgspec.field(default_factory=list)
    kernel_names: dict[str, None] = msgspec.field(default_factory=dict)
    """Names of kernels dropped from memory, for searching."""

    @property
    def id(self) -> str:
        return self.content_digest[:16]
