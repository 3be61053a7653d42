"""The story of a run's compiles, as stored and shown."""

import msgspec

from inductorscope.analyze.totals import known_sum
from inductorscope.formats.log.cache_records import CacheAnswer
from inductorscope.formats.log.guard_failures import GuardFailure
from inductorscope.formats.log.torch_logs import Fusion as Fusion
from inductorscope.formats.log.torch_logs import Hint
from inductorscope.formats.log.torch_logs import LoggedNode as LoggedNode
from inductorscope.formats.printed.autotune_tables import Choice, TunedTable

STORY_VERSION = 5
"""Raise it when the structs below change. Workers and `inductorscope relink` then gather the
stories of stored runs again."""


class Frame(msgspec.Struct, frozen=True, array_like=True):
    """One frame of the user's program."""

    file: str
    line: int
    function: str
    code: str | None = None


class Recorded(msgspec.Struct):
    """What a record of a log says about a compile."""

    compile: int
    """Number of the compile; -1 if the record names none."""
    log: int
    line: int
    """Line of the record in the log."""


class GraphBreak(Recorded):
    """A graph break in one compile."""

    file: str | None
    at: int | None
    """Line in the user's file."""
    title: str
    explanation: str = ""
    hints: list[str] = []
    context: str = ""
    link: str | None = None
    instruction: str = ""
    stack: list[int] = []
    """Numbers of frames, innermost last."""


class BecameDynamic(msgspec.Struct):
    """A size or number that Dynamo stopped treating as constant."""

    subject: str
    source: str
    old: str | None
    new: str | None
    reason: str


class Recompile(Recorded):
    """Why a frame was compiled again."""

    failures: list[GuardFailure] = []
    text: str = ""


class Symbol(Recorded):
    """A symbolic size or number."""

    name: str
    source: str
    subject: str
    """The source in the program's notation."""
    value: str | None
    """The hint: its value when the symbol was created."""
    range: str | None
    unbacked: bool = False
    frame: int | None = None
    """Line of the user's program that created it."""


class SymbolGuard(Recorded):
    """A guard or a conclusion about symbols."""

    kind: str
    """`guard`, `specialisation`, `real tensors`."""
    text: str
    value: str | None = None
    reason: str | None = None
    frame: int | None = None
    locals: dict[str, str] = {}
    """Local variables of the user's frame, if the record has them."""
    sources: dict[str, str] = {}


class Expression(msgspec.Struct):
    """How a symbolic expression was made."""

    number: int
    text: str
    method: str
    arguments: list[str]
    made_from: list[int]
    frame: int | None
    line: int


class CacheEvent(CacheAnswer, kw_only=True):
    """A lookup in a cache and its result."""

    compile: int
    log: int
    line: int


class KernelCompiled(msgspec.Struct):
    """Compile time of one Triton kernel, and the configuration it got."""

    compile: int
    name: str
    us: float | None
    configuration: str = ""
    state: str = ""
    options: dict[str, int] = {}
    """The sizes of the configuration."""
    tried: int | None = None
    """Configurations to choose from."""


class Tuning(Recorded):
    """One autotuning in a TORCH_TRACE log: the operation and its fastest candidates."""

    what: str
    shapes: str
    us: float | None
    choices: list[Choice] = []
    dtypes: str = ""
    count: int | None = None
    """Number of candidates."""


class Failure(Recorded):
    """A compile that failed, or was abandoned and restarted."""

    kind: str
    """Type of the exception."""
    message: str
    restarted: bool
    file: str | None = None
    at: int | None = None
    trace: str = ""
    """End of the traceback."""


class Compile(msgspec.Struct):
    """One compile of a frame."""

    number: int
    log: int
    rank: int | None
    id: str | None
    """`0/1`; None for compiles outside of Dynamo (AOTInductor, export)."""
    occurrence: int
    """From 0: after a reset the same id occurs again."""
    line: int
    """Line of its first record."""
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
    """Seconds in all, with restarts."""
    seconds_from: str = ""
    """`metrics`, or `phases` if the log has no metrics for it."""
    backward_seconds: float | None = None
    start_us: float | None = None
    end_us: float | None = None
    phases: dict[str, float] = {}
    """Self time in microseconds by kind of work."""
    beside: dict[str, float] = {}
    """The part of it that other threads did meanwhile."""
    waited_us: float = 0.0
    """How long it only waited for workers that compile kernels."""
    loading_us: float = 0.0
    """The part of it that a compile from a cache needs too, apart from Dynamo's."""
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
    collectives: list[str] | None = None
    """Names of its collectives in the order they start; None if the log has no schedule."""
    links: list[tuple[str, str]] = []
    """Names and addresses."""
    spans: tuple[int, int, int] = (0, 0, 0)
    """Chunk, first, count."""

    @property
    def known_s(self) -> float | None:
        """Seconds of forward and backward, as far as they are known."""
        return known_sum((self.seconds, self.backward_seconds))

    @property
    def took_s(self) -> float:
        return self.known_s or 0.0


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
    """Digest of tensor metadata, to distinguish ranks."""
    outside: dict[str, float] = {}
    """Microseconds by kind of work in phases of no compile, such as a kernel's first launch."""
    same_as: int | None = None
    """Number of another log with exactly the same content, which was read for both."""
    complete: bool = True
    """Whether it has all graph breaks. A TORCH_LOGS text has only what was requested."""


class PhaseRow(msgspec.Struct):
    """All phases with one name."""

    name: str
    kind: str
    count: int
    total_us: float
    self_us: float
    longest_us: float
    longest_compile: int


class Spoken(msgspec.Struct):
    """The content of one TORCH_LOGS text."""

    path: str
    lines: int
    nodes: list[LoggedNode] = []
    fusions: list[Fusion] = []
    hints: list[Hint] = []
    tables: list[TunedTable] = []


class Story(msgspec.Struct):
    """Everything but the individual phases, which are stored separately."""

    logs: list[LogFacts] = []
    compiles: list[Compile] = []
    breaks: list[GraphBreak] = []
    recompiles: list[Recompile] = []
    became: dict[int, list[BecameDynamic]] = {}
    """By compile number."""
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
    """Content of the upload's TORCH_LOGS texts."""
    beyond: dict[str, int] = {}
    """Number of items beyond the limits, by kind."""
    unread: dict[str, int] = {}
