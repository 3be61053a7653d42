"""The story of a run's compiles, as it is kept and shown."""

from __future__ import annotations

import msgspec

from inductorscope.formats.log.guard_failures import GuardFailure
from inductorscope.formats.log.torch_logs import Fusion as Fusion
from inductorscope.formats.log.torch_logs import Hint
from inductorscope.formats.log.torch_logs import LoggedNode as LoggedNode

STORY_VERSION = 1
"""Raised when what is gathered changes: older stories say so."""


class Frame(msgspec.Struct, frozen=True, array_like=True):
    """One frame of the user's program."""

    file: str
    line: int
    function: str
    code: str | None = None


class GraphBreak(msgspec.Struct):
    """A graph break, met by one compile."""

    compile: int
    """Which of the story's compiles; -1 where the record names none."""
    log: int
    line: int
    """Of its record in the log."""
    file: str | None
    at: int | None
    """Line of the user's file."""
    title: str
    explanation: str = ""
    hints: list[str] = []
    context: str = ""
    link: str | None = None
    instruction: str = ""
    stack: list[int] = []
    """Numbers of frames, innermost last."""


class BecameDynamic(msgspec.Struct):
    """A size or number that Dynamo stopped taking for constant."""

    subject: str
    source: str
    old: str | None
    new: str | None
    reason: str


class Recompile(msgspec.Struct):
    """Why a compile was another one of a frame that had been compiled before."""

    compile: int
    log: int
    line: int
    failures: list[GuardFailure] = []
    text: str = ""


class Symbol(msgspec.Struct):
    """A symbolic size or number."""

    compile: int
    log: int
    line: int
    name: str
    source: str
    subject: str
    """The source as the program writes it."""
    value: str | None
    """The hint: what it was when it was made."""
    range: str | None
    unbacked: bool = False
    frame: int | None = None
    """Line of the user's program that made it."""


class SymbolGuard(msgspec.Struct):
    """What was found out or demanded about symbols."""

    compile: int
    log: int
    line: int
    kind: str
    """`guard`, `specialisation`, `real tensors`."""
    text: str
    value: str | None = None
    reason: str | None = None
    frame: int | None = None
    locals: dict[str, str] = {}
    """What the user's frame held, where the record tells."""
    sources: dict[str, str] = {}


class Expression(msgspec.Struct):
    """How a symbolic expression came about."""

    number: int
    text: str
    method: str
    arguments: list[str]
    made_from: list[int]
    frame: int | None
    line: int


class CacheEvent(msgspec.Struct):
    """A cache asked, and its answer."""

    compile: int
    log: int
    line: int
    cache: str
    """`FX graph`, `AOTAutograd`, …"""
    outcome: str
    """`hit`, `miss`, `bypass`, `disabled`, or as the log names it."""
    key: str | None = None
    reason: str | None = None
    saved_ms: float | None = None
    detail: str | None = None


class KernelCompiled(msgspec.Struct):
    """What compiling one Triton kernel took, and which configuration it got."""

    compile: int
    name: str
    us: float | None
    configuration: str = ""
    state: str = ""


class Choice(msgspec.Struct):
    """One candidate of an autotuning."""

    name: str
    us: float | None
    what: str = ""


class Tuning(msgspec.Struct):
    """One autotuning: what was tuned, and the candidates where the log has them."""

    compile: int
    log: int
    line: int
    what: str
    shapes: str
    us: float | None
    choices: list[Choice] = []


class Failure(msgspec.Struct):
    """A compile that failed, or was given up and begun again."""

    compile: int
    log: int
    line: int
    kind: str
    """The exception's type."""
    message: str
    restarted: bool
    file: str | None = None
    at: int | None = None
    trace: str = ""
    """The end of the traceback."""


class Compile(msgspec.Struct):
    """One compile of a frame."""

    number: int
    log: int
    rank: int | None
    id: str | None
    """`0/1`; None for what is compiled outside of Dynamo (AOTInductor, export)."""
    occurrence: int
    """After a reset the same id comes again; from 0."""
    line: int
    """Of its first record."""
    last_line: int = 0
    pid: int = 0
    attempts: int = 1
    function: str | None = None
    file: str | None = None
    first_line: int | None = None
    stack: list[int] = []
    outcome: str = "unfinished"
    """`compiled`, `failed`, `no code`, `unfinished`."""
    seconds: float | None = None
    """Of the whole, restarts included."""
    seconds_from: str = ""
    """`metrics`, or `phases` where the log has no metrics of it."""
    backward_seconds: float | None = None
    start_us: float | None = None
    end_us: float | None = None
    phases: dict[str, float] = {}
    """Microseconds of each kind of work, each without what is in it."""
    guards: int | None = None
    guard_us: float | None = None
    ops: int | None = None
    nodes: int | None = None
    inputs: int | None = None
    breaks: int = 0
    codes: int = 0
    recompile: bool = False
    hits: int = 0
    misses: int = 0
    cudagraph_skip: str | None = None
    links: list[str] = []
    spans: tuple[int, int, int] = (0, 0, 0)
    """Chunk, first, count."""


class LogFacts(msgspec.Struct):
    """One log of the story."""

    path: str
    rank: int | None
    pid: int | None
    records: int
    seconds: float | None
    """Compile time, summed over its compiles."""
    start_us: float | None
    end_us: float | None
    tensors: str = ""
    """Digest over the metadata of tensors, to tell ranks apart."""
    same_as: int | None = None
    """Number of another log with the very same content, which was read for both."""


class PhaseRow(msgspec.Struct):
    """All phases of one name together."""

    name: str
    kind: str
    count: int
    total_us: float
    self_us: float
    longest_us: float
    longest_compile: int


class TunedTable(msgspec.Struct):
    """An autotuning as max-autotune prints it: every candidate with its time."""

    compile_id: str | None
    line: int
    op: str
    shapes: str
    strides: str
    dtypes: str
    seconds: float | None
    precompile_seconds: float | None
    count: int
    """Candidates; the text may list the fastest only."""
    choices: list[Choice]


class Spoken(msgspec.Struct):
    """What one TORCH_LOGS text says."""

    path: str
    lines: int
    nodes: list[LoggedNode] = []
    fusions: list[Fusion] = []
    hints: list[Hint] = []
    tables: list[TunedTable] = []


class Story(msgspec.Struct):
    """All but the phases one by one, which are kept apart."""

    version: int = STORY_VERSION
    logs: list[LogFacts] = []
    compiles: list[Compile] = []
    breaks: list[GraphBreak] = []
    recompiles: list[Recompile] = []
    became: dict[int, list[BecameDynamic]] = {}
    """By compile."""
    symbols: list[Symbol] = []
    symbol_guards: list[SymbolGuard] = []
    expressions: list[Expression] = []
    caches: list[CacheEvent] = []
    kernels: list[KernelCompiled] = []
    tunings: list[Tuning] = []
    failures: list[Failure] = []
    phases: list[PhaseRow] = []
    frames: list[Frame] = []
    spoken: list[Spoken] = []
    """What TORCH_LOGS texts of the upload say."""
    beyond: dict[str, int] = {}
    """What is beyond the most that is kept, counted by what it is."""
    unread: dict[str, int] = {}
