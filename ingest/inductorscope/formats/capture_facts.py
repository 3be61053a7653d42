"""`capture.json`: the facts of a capture that no file of torch holds. Imports no torch.

The captured program writes it, also when compiling fails; storing the run reads it.
"""

from collections import Counter
from pathlib import Path
from typing import Any, Literal

import msgspec

from inductorscope.formats.border import read_as

FACTS = "capture.json"
SOURCES = "sources.json"
LINE_RECORD = "line_record.json"
LOG = "capture.log"
EAGER, COMPILED = "eager", "compiled"

State = Literal["complete", "failed to compile", "failed"]


class Timing(msgspec.Struct):
    """Wall time of one call, in milliseconds."""

    median_ms: float
    p10: float
    p90: float
    samples: list[float]
    calls_per_sample: int = 1
    """Calls per sample. Short calls are timed several at a time; a sample is their mean."""


class ProfileFacts(msgspec.Struct):
    """What a key_averages file and its trace cover."""

    steps: int
    """Calls of the model under the profiler; counts and times in the file are their sum."""
    trace: str
    key_averages: str


class CaptureError(msgspec.Struct):
    """Why a capture ended early."""

    kind: str
    """The exception's type, with its module."""
    message: str
    trace: str = ""
    """The end of the traceback."""


NO_STEPS = "Steps: the script called no compiled function and no optimizer."
"""What a capture of a script says that is missing."""
INTERRUPTED = CaptureError("Interrupted", "The capture was interrupted with Ctrl-C.")
"""The error of a capture that a person ended; what was recorded until then is its result."""


class EagerOutcome(msgspec.Struct):
    """What a program that failed did without torch.compile."""

    passed: bool = False
    """Whether it ran past the place of the failure."""
    error: CaptureError | None = None
    """How it failed, if it did."""
    unknown: str = ""
    """Why neither is known, as a sentence."""


class RecordFacts(msgspec.Struct):
    """Whether the exact line record was made."""

    made: bool
    reason: str = ""
    """Why there is no record, or what it lacks."""
    lines: int = 0
    graphs: int = 0


class PeakFacts(msgspec.Struct):
    """The machine's peak rates, measured during the capture with copies and matrix products."""

    device: str
    memory_bytes_per_s: float
    """Bytes a second, read and written, of a copy that fits into no cache."""
    cache_bytes_per_s: float | None = None
    """The same for a small copy."""
    matmul_flops: dict[str, float] = msgspec.field(default_factory=dict)
    """Data type → operations a second."""
    seconds: float = 0.0
    """What measuring took."""


class LoopFacts(msgspec.Struct):
    """One loop nest of the C++ backend, and whether it is vectorised."""

    graph: str
    """Name of the debug folder."""
    kernel: str
    nodes: list[str]
    """Name of the scheduler node, such as op3."""
    ranges: list[str]
    """Sizes of the loops, outermost first."""
    reductions: int = 0
    """How many loops, counted from the innermost, are reductions."""
    vectors: list[int] = msgspec.field(default_factory=list)
    """Elements at a time, for each vectorised loop; empty if none is."""
    loops: list[int] = msgspec.field(default_factory=list)
    """Which loops are vectorised, from 0."""
    reason: str = ""
    """Why it is not vectorised, or only in part."""


class VectorFacts(msgspec.Struct):
    """What the C++ backend decided about vectorising."""

    instructions: str
    """The vector instruction set that code is generated for; empty if none."""
    nests: list[LoopFacts] = msgspec.field(default_factory=list)


class CompileEvent(msgspec.Struct):
    """A compile, or the recording of a CUDA graph, while a script ran."""

    step: int
    """The step it happened in; the first is 1, and 0 is before it."""
    compile_id: str
    """As the log names it, such as `0/1`."""
    what: str
    """'compile', 'backward' or 'cuda graph'."""
    seconds: float


class CudaGraphs(msgspec.Struct):
    """What happened to CUDA graphs."""

    recorded: int = 0
    re_recorded: int = 0
    """How many of them record a function again."""
    replayed: int = 0
    skipped: list[str] = msgspec.field(default_factory=list)
    """Why functions run without one, as torch says it."""
    warmed: int = 0
    """Calls without a graph, since the function, or the size, was new, or earlier results still
    waited for their backward pass."""
    functions: int = 0
    """How many functions and sizes these calls were of."""


class HeldMemory(msgspec.Struct, array_like=True):
    """Memory that one line asked for."""

    graph: str
    """Name of the graph's debug folder, if the line is in its wrapper."""
    file: str
    """Empty if no line of the user's or of a wrapper asked for it."""
    line: int
    bytes: int
    blocks: int


class AllocatedPeak(msgspec.Struct):
    """What torch's CUDA allocator gave out at the peak of one step."""

    bytes: int
    before: int
    """Of these, bytes held since before the step."""
    held: list[HeldMemory] = msgspec.field(default_factory=list)
    """The rest, by the line that asked for it, the largest first."""


class LineShare(msgspec.Struct):
    """A line of the program, and the share of the timed steps that its thread was in it, outside of
    compiled code."""

    path: str
    line: int
    share: float
    again: str = ""
    """What takes a good part of that time, though a program needs it once: a data `loader`'s start,
    `processes`, a `program`, making `modules`, `reading` or `saving` files."""


class Wrapped(msgspec.Struct, frozen=True):
    """A function or module that a script gave to `torch.compile`."""

    name: str
    """The function's, or the module's class."""
    methods: list[str] | None
    """Other methods of a module's class, which run as they are; None for a function."""
    file: str = ""
    line: int = 0


class ScriptStart(msgspec.Struct):
    """Seconds since the start of a script's process; None if it did not get there."""

    torch_s: float
    """Until torch was imported."""
    compile_s: float | None = None
    """Until the first compile began."""
    step_s: float | None = None
    """Until the end of the first step that compiled."""
    compile_cpu_s: float | None = None
    """Processor time of the process and its children until the first compile began."""
    step_cpu_s: float | None = None


class ScriptSteps(msgspec.Struct):
    """The steps of one process of a script."""

    rank: int | None = None
    pid: int = 0
    from_what: str = ""
    """What begins a step: a step of the optimizer, or a call of the compiled function."""
    count: int = 0
    kinds: list[tuple[str, int, int]] = msgspec.field(default_factory=list)
    """What the steps were used for: kind, first and last step. The kinds are 'compiles',
    'warm-up', 'timed', 'profiled' and 'not timed'."""
    first_ms: list[float] = msgspec.field(default_factory=list)
    """Times of the first steps, whatever their kind; a step without a known begin has 0."""
    compiles: list[CompileEvent] = msgspec.field(default_factory=list)
    inputs: list[str] = msgspec.field(default_factory=list)
    """Types and shapes of the tensors that the compiled function was called with."""
    optimizer: str = ""
    """The optimizer's class and how many parameters it updates."""
    allocated_bytes: int | None = None
    """The most that torch's CUDA allocator gave out at one time."""
    reserved_bytes: int | None = None
    """The most that it reserved."""
    resident_bytes: int | None = None
    """The most memory that the process used on the host."""
    cuda_graphs: CudaGraphs | None = None
    peak: AllocatedPeak | None = None
    start: ScriptStart | None = None
    usual_threads: int = 0
    """Torch's number of threads before the script could set another."""
    anomaly: bool = False
    """Whether autograd looks for NaN."""
    deterministic: bool = False
    """Whether operators must give the same result each time."""
    cudnn_benchmark: bool = False
    """Whether cuDNN tries out algorithms for each new size."""
    float32_products: str = ""
    """What `torch.get_float32_matmul_precision()` says."""
    lines: list[LineShare] = msgspec.field(default_factory=list)
    """Lines that the thread was sampled in, the longest first."""
    unchanged: dict[str, float | None] = msgspec.field(default_factory=dict)
    """Arguments of the compiled function that were the same tensors in all calls looked at, with
    their share of zeros; None for small ones."""
    unread_gradients: dict[str, float] = msgspec.field(default_factory=dict)
    """Modules with gradients that no optimizer reads → share of all numbers of gradients."""
    uncalled: list[Wrapped] = msgspec.field(default_factory=list)
    """What was compiled, if the script called no compiled function."""
    padding: dict[str, float] = msgspec.field(default_factory=dict)
    """Arguments of the compiled function → share of last columns with one value in all calls."""
    denormal: dict[str, float] = msgspec.field(default_factory=dict)
    """Arguments of the compiled function → share of numbers too small for full speed."""
    rows: dict[str, int] = msgspec.field(default_factory=dict)
    """Arguments that were one row of a larger tensor in all calls looked at → its rows."""


class CaptureFacts(msgspec.Struct, omit_defaults=False):
    """The content of `capture.json`."""

    schema: int = 1
    state: State = "failed"
    error: CaptureError | None = None
    eager_outcome: EagerOutcome | None = None
    name: str = ""
    model: str = ""
    torch_version: str | None = None
    torch_git: str | None = None
    python_version: str | None = None
    triton_version: str | None = None
    driver_version: str | None = None
    """Of the GPU's kernel module."""
    device: str = "cpu"
    """'cpu' or 'cuda'."""
    device_name: str | None = None
    """The device that ran the model: name of the CPU or GPU."""
    cpu_name: str | None = None
    gpu_name: str | None = None
    cores: int | None = None
    threads: int | None = None
    options: dict[str, Any] = msgspec.field(default_factory=dict)
    """The capture's spec as requested."""
    config: dict[str, str] = msgspec.field(default_factory=dict)
    """The relevant keys of torch._inductor.config and their values while compiling."""
    env: dict[str, str] = msgspec.field(default_factory=dict)
    timings: dict[str, Timing] = msgspec.field(default_factory=dict)
    """Keys are 'eager' and 'compiled'."""
    first_call_s: float | None = None
    """Time of the first compiled call, which compiles; of a script, of its first step that
    compiles."""
    profiles: dict[str, ProfileFacts] = msgspec.field(default_factory=dict)
    sources: list[str] = msgspec.field(default_factory=list)
    """Paths of the source files kept, as stack frames name them."""
    record: RecordFacts | None = None
    peaks: PeakFacts | None = None
    """The machine's limits, for rooflines."""
    vectors: VectorFacts | None = None
    script: list[ScriptSteps] = msgspec.field(default_factory=list)
    """The steps of a script, one entry for each process that compiled or trained; rank 0 first."""
    eager_script: ScriptSteps | None = None
    """The steps of the same script without torch.compile."""
    differs: list[str] = msgspec.field(default_factory=list)
    """How the eager script's work differs from the compiled one's, as sentences."""
    missing: list[str] = msgspec.field(default_factory=list)
    """What this capture lacks and why, as sentences."""
    disturbed: list[str] = msgspec.field(default_factory=list)
    """What disturbed the measurements, as sentences."""

    def write(self, out: Path) -> None:
        """Write `capture.json` atomically."""
        text = msgspec.json.format(msgspec.json.encode(self), indent=1)
        part = out / f".{FACTS}.part"
        part.write_bytes(text)
        part.replace(out / FACTS)


class SourceFiles(msgspec.Struct):
    """`sources.json`: path as stack frames name it → file in the capture's folder."""

    schema: int = 1
    files: dict[str, str] = msgspec.field(default_factory=dict)


def read_facts(folder: Path) -> CaptureFacts | None:
    """The facts in a capture's folder, or None when they are missing or unreadable."""
    return read_facts_file(folder / FACTS)


def read_facts_file(path: Path, left_out: Counter[str] | None = None) -> CaptureFacts | None:
    """The facts in a `capture.json`, or None when it is missing or of another format."""
    try:
        return parse_facts(path.read_bytes(), left_out)
    except OSError:
        return None


def parse_facts(data: bytes, left_out: Counter[str] | None = None) -> CaptureFacts | None:
    """The facts in the text of a `capture.json`, or None when it is of another format."""
    try:
        return read_as(data, CaptureFacts, Counter() if left_out is None else left_out)
    except (ValueError, RecursionError):
        return None
