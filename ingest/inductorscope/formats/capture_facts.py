"""`capture.json`: what is known about a capture besides the files torch wrote. Torch-free.

The child writes it, also when compiling failed; whoever stores the run reads it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import msgspec

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
    """Short calls are timed several at a time; a sample is their mean."""


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


class RecordFacts(msgspec.Struct):
    """Whether the exact line record was made."""

    made: bool
    reason: str = ""
    """Why there is none, or what it lacks."""
    lines: int = 0
    graphs: int = 0


class PeakFacts(msgspec.Struct):
    """What the machine did at most: copies and matrix products of its own, when it captured."""

    device: str
    memory_bytes_per_s: float
    """Read and written by a copy that no cache holds."""
    cache_bytes_per_s: float | None = None
    """The same of a small one."""
    matmul_flops: dict[str, float] = msgspec.field(default_factory=dict)
    """Type → operations a second."""
    seconds: float = 0.0
    """What measuring took."""


class CompileTimes(msgspec.Struct):
    """`torch._dynamo.utils.compile_times()` after the first compiled call."""

    text: str
    """As it prints them."""
    seconds: dict[str, list[float]]
    """Function of the compiler → what each of its calls took, those within it included."""


class ExplainedFrame(msgspec.Struct, array_like=True):
    """A frame of the user's program."""

    file: str
    line: int
    function: str
    code: str


class ExplainedBreak(msgspec.Struct):
    """Why one graph ended where it did."""

    reason: str
    stack: list[ExplainedFrame]
    """Innermost last."""


class Explained(msgspec.Struct):
    """`torch._dynamo.explain` of the model, run when everything else was done."""

    graphs: int = 0
    breaks: int = 0
    ops: int = 0
    ops_per_graph: list[dict[str, int]] = msgspec.field(default_factory=list)
    """Operator → how often, of each graph."""
    reasons: list[ExplainedBreak] = msgspec.field(default_factory=list)
    guards: int = 0
    seconds: float = 0.0
    """What explaining took."""
    failed: str = ""
    """Why there is none."""


class LoopFacts(msgspec.Struct):
    """One loop nest of the C++ backend, and whether it computes several elements at a time."""

    graph: str
    """Its debug folder's name."""
    kernel: str
    nodes: list[str]
    """Of the schedule: op3."""
    ranges: list[str]
    """Sizes of its loops, outermost first."""
    reductions: int = 0
    """How many of the loops, from the innermost, are reductions."""
    vectors: list[int] = msgspec.field(default_factory=list)
    """Elements at a time, for each vectorised loop; none: not vectorised."""
    loops: list[int] = msgspec.field(default_factory=list)
    """Which loops are vectorised, from 0."""
    reason: str = ""
    """Why it is not vectorised, or not all the way."""


class VectorFacts(msgspec.Struct):
    """What the C++ backend decided about vectors."""

    instructions: str
    """The set of vector instructions that it generates code for; empty: none."""
    nests: list[LoopFacts] = msgspec.field(default_factory=list)


class CaptureFacts(msgspec.Struct, omit_defaults=False):
    """All of `capture.json`."""

    schema: int = 1
    state: State = "failed"
    error: CaptureError | None = None
    name: str = ""
    model: str = ""
    torch_version: str | None = None
    torch_git: str | None = None
    python_version: str | None = None
    device: str = "cpu"
    """'cpu' or 'cuda'."""
    device_name: str | None = None
    """Name of the device that ran the model: CPU model or GPU model."""
    cpu_name: str | None = None
    gpu_name: str | None = None
    cores: int | None = None
    threads: int | None = None
    options: dict[str, Any] = msgspec.field(default_factory=dict)
    """The capture's spec as asked for."""
    config: dict[str, str] = msgspec.field(default_factory=dict)
    """Keys of torch._inductor.config that matter and their values while compiling."""
    env: dict[str, str] = msgspec.field(default_factory=dict)
    timings: dict[str, Timing] = msgspec.field(default_factory=dict)
    """Under 'eager' and 'compiled'."""
    first_call_s: float | None = None
    """The first compiled call, which compiles; for a script the whole script."""
    profiles: dict[str, ProfileFacts] = msgspec.field(default_factory=dict)
    sources: list[str] = msgspec.field(default_factory=list)
    """Paths, as stack frames name them, of the source files kept."""
    record: RecordFacts | None = None
    peaks: PeakFacts | None = None
    """The machine's own limits, for rooflines."""
    compile_times: CompileTimes | None = None
    explained: Explained | None = None
    vectors: VectorFacts | None = None
    missing: list[str] = msgspec.field(default_factory=list)
    """What this capture lacks and why, in sentences."""

    def write(self, out: Path) -> None:
        """Write `capture.json` so that no reader ever sees half of it."""
        text = msgspec.json.format(msgspec.json.encode(self), indent=1)
        part = out / f".{FACTS}.part"
        part.write_bytes(text)
        part.replace(out / FACTS)


class SourceFiles(msgspec.Struct):
    """`sources.json`: path as stack frames name it → file in the capture's folder."""

    schema: int = 1
    files: dict[str, str] = msgspec.field(default_factory=dict)


def read_facts(folder: Path) -> CaptureFacts | None:
    """The facts of a capture's folder, or None when it holds none that can be read."""
    return read_facts_file(folder / FACTS)


def read_facts_file(path: Path) -> CaptureFacts | None:
    """The facts in a `capture.json`, or None when there is none or it is not ours."""
    try:
        return parse_facts(path.read_bytes())
    except OSError:
        return None


def parse_facts(data: bytes) -> CaptureFacts | None:
    """The facts in the text of a `capture.json`, or None when it is not ours."""
    try:
        return msgspec.json.decode(data, type=CaptureFacts)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
