"""Output of `TORCH_LOGS=fusion,perf_hints,schedule`: which nodes were not fused, and why.

`text_log` reads messages that TORCH_TRACE writes as records, such as code and graph breaks.

V1121 11:13:16.660000 13776 torch/_inductor/scheduler.py:2059] [0/0] [__fusion] cannot fuse op0 with op9: no shared data
I1121 11:13:16.578000 13776 torch/_inductor/graph.py:1002] [0/0] [__perf_hints] Using FallbackKernel: torch.ops.aten.cumsum.default
"""  # noqa: E501 (sample lines are shown whole)

import re
from collections.abc import Sized

import msgspec

from inductorscope.formats.log.text_log import Process, starts_message
from inductorscope.formats.log.torch_lines import LogLine, read_line, without_timestamp
from inductorscope.formats.printed.autotune_tables import AutotuneTables

LONGEST = 20_000
"""Most characters read of a line."""
MOST = 50_000
MOST_ORIGINS = 200
MOST_PROCESSES = 256
HEAD_LINES = 5000
LEAST_PLACES = 4

_CANNOT = re.compile(
    r"^cannot fuse (?:\(benchmark\): fusing )?(\S{1,300}) with (\S{1,300}?)(?:: | cause )(.*)$"
)
_FUSING = re.compile(
    r"^(?:can fuse \(benchmark\): )?fusing (\S{1,300}) with (\S{1,300})(?: cause (.*))?$"
)
_NODE = re.compile(r"^ {0,4}(\w{0,40}SchedulerNode)\(name='([^']{1,300})'\)(?:, (\w{1,60})\()?")
_ORIGINS = re.compile(r"'origins=(?:OrderedSet|\{)?\(?\[?([^'\])}]{0,4000})")
_FRAME = re.compile(
    r"' {1,8}File \"([^\"]{1,500})\", line (\d{1,9}), in [^']{1,200}', '\s{0,40}([^']{0,500})'"
)
HINTS = ("perf_hints", "cudagraphs", "loop_ordering", "autotuning")
READ = ("fusion", *HINTS)
_TUNED = re.compile(r"^(?:\[[^\]\s]{1,40}\]: ?){0,4}AUTOTUNE [\w.:+-]{1,200}\(.{0,4000}\)\s*$")
_RANK = re.compile(r"^(?:\[[^\]\s]{1,40}\]: ?){1,4}")
_VECTOR = re.compile(r"[Vv]ectoriz\w{1,10}|[Dd]isabled? .{0,20}vector")


class LoggedNode(msgspec.Struct):
    """A node of the scheduler, as the log names it."""

    compile_id: str | None
    name: str
    kind: str
    origins: list[str] = msgspec.field(default_factory=list)
    """The FX nodes that it computes."""
    file: str | None = None
    line: int | None = None
    code: str | None = None


class Fusion(msgspec.Struct):
    """Two nodes that Inductor tried to fuse, the result, and the number of attempts."""

    compile_id: str | None
    one: str
    other: str
    fused: bool
    reason: str
    count: int
    line: int
    """Line of the log, of the first attempt."""


class Hint(msgspec.Struct):
    """Another message of the compiler about speed."""

    compile_id: str | None
    topic: str
    text: str
    module: str
    count: int
    line: int


def looks_like_torch_logs(text: str) -> bool:
    """Whether a text is output of TORCH_LOGS. An excerpt without its first line does not count."""
    places: set[str] = set()
    lines = other = 0
    for text_line in text.split("\n")[:HEAD_LINES]:
        line = read_line(text_line)
        if line is None:
            if _TUNED.match(text_line[:LONGEST]):
                return True
            other += bool(text_line.strip())
        else:
            if line.topic in READ or starts_message(line):
                return True
            lines += 1
            places.add(line.place)
    return len(places) >= LEAST_PLACES and lines > other


class TorchLogs:
    """Reads the lines of one log in order."""

    def __init__(self) -> None:
        self.nodes: dict[tuple[str | None, str], LoggedNode] = {}
        self.fusions: dict[tuple[str | None, str, str, str], Fusion] = {}
        self.hints: dict[tuple[str | None, str], Hint] = {}
        self.tables = AutotuneTables()
        self.lines = 0
        self._compile_id: str | None = None
        """Compile id of the last line that names one; tables of autotuning do not."""
        self.beyond = 0
        """Number of entries not kept."""
        self.processes: dict[Process, None] = {}
        """Processes with messages that become records, in order; see `text_log`."""
        self.beyond_processes = 0
        """Number of messages from further processes, which are not kept."""

    def add(self, text: str) -> None:
        self.lines += 1
        line = read_line(text)
        if line is None:
            plain = _RANK.sub("", without_timestamp(text)[:LONGEST])
            self.tables.add(plain, self.lines, self._compile_id)
            return
        self._process(line)
        compile_id, topic, module, message = (
            line.compile_id, line.topic, line.place, line.text[:LONGEST],
        )  # fmt: skip
        self._compile_id = compile_id or self._compile_id
        if topic == "fusion":
            self._fusion(compile_id, message)
        elif topic in HINTS or _VECTOR.search(message[:400]):
            self._hint(compile_id, topic or "vectorisation", message.strip(), module)

    def _process(self, line: LogLine) -> None:
        process = line.rank, line.pid
        if process in self.processes or not starts_message(line):
            return
        if len(self.processes) < MOST_PROCESSES:
            self.processes[process] = None
        else:
            self.beyond_processes += 1

    def _fusion(self, compile_id: str | None, message: str) -> None:
        if match := _CANNOT.match(message):
            first, second, reason = match.groups()
            self._tried(compile_id, first, second, False, reason.strip())
        elif match := _FUSING.match(message):
            first, second, reason = match.groups()
            self._tried(compile_id, first, second, True, (reason or "").strip())
        elif match := _NODE.match(message):
            self._node(compile_id, match, message)

    def _tried(
        self, compile_id: str | None, first: str, second: str, fused: bool, reason: str
    ) -> None:
        known = self.fusions.get((compile_id, first, second, reason))
        if known is not None:
            known.count += 1
        elif self._room(self.fusions):
            self.fusions[compile_id, first, second, reason] = Fusion(
                compile_id, first, second, fused, reason=reason[:2000], count=1, line=self.lines
            )

    def _node(self, compile_id: str | None, match: re.Match[str], message: str) -> None:
        outer, name, kind = match.groups()
        if (compile_id, name) in self.nodes or not self._room(self.nodes):
            return
        node = LoggedNode(compile_id, name, kind or outer.removesuffix("SchedulerNode") or outer)
        origins = _ORIGINS.search(message)
        if origins is not None:
            names = (part.strip() for part in origins.group(1).split(","))
            node.origins = [part for part in names if part][:MOST_ORIGINS]
        # One stack for each origin; the innermost frame is last, as in the comments of FX graphs.
        _, _, stack = message.partition("'stack_traces = {'")
        for frame in _FRAME.finditer(stack.partition("'}'")[0]):
            node.file, node.line, node.code = frame.group(1), int(frame.group(2)), frame.group(3)
        self.nodes[compile_id, name] = node

    def _hint(self, compile_id: str | None, topic: str, text: str, module: str) -> None:
        known = self.hints.get((compile_id, text))
        if known is not None:
            known.count += 1
        elif text and self._room(self.hints):
            self.hints[compile_id, text] = Hint(
                compile_id, topic=topic, text=text[:2000], module=module, count=1, line=self.lines
            )

    def _room(self, kept: Sized) -> bool:
        if len(kept) < MOST:
            return True
        self.beyond += 1
        return False
