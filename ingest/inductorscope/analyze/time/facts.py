"""What is stored of a profile: the figures that its pages show without the code.

Apart from the modules that compute them, because pages need no numpy.
"""

from typing import Literal

import msgspec

from inductorscope.analyze.time.eager_compiled import Comparison
from inductorscope.fields import Hidden, Prose
from inductorscope.formats.trace.shapes import Device, UsualShape

PER_CALL = "calls of the compiled graph: the trace marks no steps"
"""How a number of steps is known, if only one graph was called."""

NO_DURATIONS = "kernels have no durations"
"""A finding: the profile has hardware counters instead."""
NO_CPP = "no C++ kernels are in the trace"
"""A finding: they count as the compiled code around them."""


class CategoryTotal(msgspec.Struct):
    category: str
    kernels: int
    """Number of different kernels."""
    calls: int
    us: float


class TimelinePart(msgspec.Struct):
    """A part of a timeline."""

    name: str
    us: float
    share: float
    """Share of the span."""
    idle: bool


WaitKind = Literal[
    "loading data", "capturing a graph", "compiling", "first calls", "blocking", "call",
    "operator", "host operator", "python", "queued", "profiler", "unnamed", "searching",
]  # fmt: skip


class Wait(msgspec.Struct):
    """Gaps in which the host did the same."""

    kind: WaitKind
    name: str
    """The event that covers them; empty if there is none."""
    count: int
    us: float
    longest_us: float
    at_us: float
    """When the longest began, from the start of the trace."""
    inside: str = ""
    """The operator that made the call, or the program's own span around it."""
    file: str = ""
    """The line of the program that the trace's stack names; empty if it has none."""
    line: int = 0
    function: str = ""


class OptimizerTime(msgspec.Struct):
    """The steps of one optimizer, as the host sees them."""

    name: str
    """Its class."""
    count: int
    us: float
    launches: int
    """Work of the device that it launches one by one; without a device, operators."""


class Timeline(msgspec.Struct, omit_defaults=True):
    """Timeline of all devices together, or of a thread."""

    span_us: float
    """The time that is judged; of a thread, from its first work to the end of the last."""
    busy_us: float
    """Time with at least one piece of work running."""
    parts: list[TimelinePart]
    asynchronous: bool = False
    """Whether the host runs ahead, so that the device's time is divided into steps."""
    start_up_us: float = 0.0
    """Time before the first work that is left out."""
    waits: list[Wait] = msgspec.field(default_factory=list)
    """What the host did in the longest gaps."""
    synchronising: Wait | None = None
    """All calls in which operators wait for a value from the device, and the gaps around them."""
    optimizers: list[OptimizerTime] = msgspec.field(default_factory=list)

    @property
    def idle(self) -> list[TimelinePart]:
        return [part for part in self.parts if part.idle]


HOST_BOUND, PROCESSOR = "host bound", "processor"


class RegionTime(msgspec.Struct):
    """Calls of one compiled graph; times are means per call, in µs."""

    region: int
    """Index into the trace's regions."""
    compile_id: str | None
    key: str | None
    calls: int
    host_us: float
    """Time of the graph's code on the processor."""
    guards_us: float
    prologue_us: float
    launches: float
    """Number of driver calls."""
    launching_us: float
    """Time in driver calls."""
    device_us: float
    """Time that the device worked for the call."""
    busy_us: float
    """Time during the call in which the device worked, for it or for earlier work."""
    call_us: float
    """From the start of its code to the end of its last kernel."""
    replayed: bool
    verdict: str
    """'host bound', 'device bound', 'queued' (behind earlier work), 'replayed', 'processor' (no
    device work)."""
    text: Prose
    graphs_save_us: float
    """Estimated saving per call by recording."""


class Finding(msgspec.Struct):
    """One finding about a trace."""

    level: str
    """'bad': figures are wrong; 'warn': some are missing; 'note'."""
    what: str
    count: int
    example: str
    advice: Prose


class TraceFigures(msgspec.Struct):
    """The figures of one trace; if it has no device work, of processors."""

    on_device: bool
    total_us: float
    timeline: Timeline | None
    categories: list[CategoryTotal]
    """Of kernels and copies, or of self times on processors. They sum to `total_us`."""
    regions: list[RegionTime] = msgspec.field(default_factory=list)
    findings: list[Finding] = msgspec.field(default_factory=list)


class CollectiveCalls(msgspec.Struct):
    """Collectives in the order in which they start; names are written once."""

    names: list[str] = msgspec.field(default_factory=list)
    groups: list[str] = msgspec.field(default_factory=list)
    """Process groups."""
    compiles: list[str] = msgspec.field(default_factory=list)
    calls: list[tuple[int, int, int, float, float, int]] = msgspec.field(default_factory=list)
    """Name, group, compile (-1 for none), start and duration in µs, elements (-1 if unknown)."""
    took: list[tuple[float, float]] = msgspec.field(default_factory=list)
    """For each of `calls` the µs from its start to its end, and the µs of that during which its
    device computed, or on processors its program did not wait. Empty if they are not known."""
    on_device: bool = False
    """Whether the durations last until the collective ends."""
    cut: bool = False
    """Whether later ones are left out."""
    rank: int | None = None
    host: str | None = None
    base_ns: int = 0
    """What the times of the trace count from."""


class ProfileFacts(msgspec.Struct, omit_defaults=True):
    """What is stored of a profile beside its rows; fields that do not apply are left out."""

    events: int | None = None
    stacks: Hidden[dict[str, list[str]]] = msgspec.field(default_factory=dict)
    """Kernel → the lines that torch's own stacks in the trace name."""
    joined_us: dict[str, float] | None = None
    """Device time by the way its launch was identified."""
    wall_ms: float | None = None
    """One call of the module of its graph, without the profiler."""
    joined_to_code: bool | None = None
    """Whether the times of the code's kernels come from it."""
    steps_used: int | None = None
    steps_from: str | None = None
    """How the number of steps is known: `PER_CALL` where a step is a call of the graph."""
    kernel_us: float | None = None
    """Time of a step's kernels."""
    attributed_us: float | None = None
    """The part of it that belongs to kernels of the run's code."""
    attributed_by: dict[str, float] | None = None
    """That part by the way the kernels were found."""
    breakdown: TraceFigures | None = None
    comparison: Comparison | None = None
    collectives: CollectiveCalls | None = None
    device: Device | None = None
    """The device that its work ran on, as the trace describes it."""
    shapes: list[tuple[int, UsualShape]] = []
    """Position of a kernel of the trace, and the shape of its launches."""
