"""Groups the records of a log into graphs.

A log has no such groups. Its records name a compile (`0/1`), which can contain several forward and
backward graphs, be restarted, and occur again after a reset. A graph ends with its output code;
records of the whole compile (Dynamo's graph, the joint graph) belong to each of its graphs.
"""

import re

import msgspec

from inductorscope.formats.log.kinds import BY_NAME, DYNAMO_START, Part, name_of
from inductorscope.formats.log.trace_log import LogRecord
from inductorscope.formats.vocabulary import (
    AOT,
    BACKWARD,
    CODE,
    FORWARD,
    INFERENCE,
    JOINT,
)
from inductorscope.reading.graphs.texts_of import GraphSource, GraphText, text_of

_RANK = re.compile(r"rank_(\d{1,6})")
_KERNEL = re.compile(rb'^[ \t]*extern "C"', re.M)


def rank_of(log: str) -> int | None:
    """Returns the rank in a log's file name. Records state it late, and copies of a log wrongly."""
    named = _RANK.search(log.rpartition("/")[2])
    return None if named is None else int(named.group(1))


class _Compile(msgspec.Struct):
    """One compile of a frame: from `dynamo_start` until the same id starts again."""

    compile_id: str | None
    rank: int | None
    pid: int
    attempt: int
    shared: dict[str, GraphText] = msgspec.field(default_factory=dict)
    aot: list[dict[str, GraphText]] = msgspec.field(default_factory=list)
    """What AOTAutograd logged, once for each of its joint graphs: a compile can have several."""
    open: dict[str, GraphText] = msgspec.field(default_factory=dict)
    graphs: list[GraphSource] = msgspec.field(default_factory=list)
    kernels: list[tuple[GraphSource, GraphText]] = msgspec.field(default_factory=list)
    """The kernels that a graph's wrapper calls, if they are a separate text."""
    line: int = 0

    def add_aot(self, role: str, text: GraphText) -> None:
        """Adds a text. A joint graph starts a new group, and so does a forward graph without a
        joint graph before it."""
        if not self.aot or role in self.aot[-1] or (role == JOINT and FORWARD in self.aot[-1]):
            self.aot.append({})
        self.aot[-1][role] = text

    def restart(self, attempt: int) -> None:
        """Drops what an abandoned attempt left; it stays in the log."""
        self.attempt = attempt
        self.shared, self.aot, self.open = {}, [], {}

    def close(self, log: str, line: int) -> None:
        """Makes a graph of the texts collected so far."""
        graph = GraphSource(
            name="",
            position=(log, line),
            compile_id=self.compile_id,
            rank=self.rank,
            pid=self.pid,
            texts=self.open,
        )
        self.open = {}
        self.graphs.append(graph)


class LogGraphs:
    """Takes the records of one log in order; `finish` returns its graphs."""

    def __init__(self, log: str) -> None:
        self._log = log
        self._rank = rank_of(log)
        self._current: dict[str | None, _Compile] = {}
        self._all: list[_Compile] = []

    def add(self, record: LogRecord, text: GraphText | None) -> None:
        """`text`: the record's payload."""
        named = name_of(record.kind, record.name)
        if named == DYNAMO_START:
            # A restart continues the same compile; otherwise a repeated id means another one.
            if record.compile_id not in self._current or not record.attempt:
                self._begin(record)
            return
        kind = BY_NAME.get(named)
        if kind is None or kind.text is None or text is None:
            return
        role, part = kind.text.role, kind.text.part
        compile_ = self._compile(record, part)
        compile_.line = record.line
        match part:
            case "compile":
                compile_.shared[role] = text
            case "autograd":
                compile_.add_aot(kind.text.direction or JOINT, text)
            case "before code":
                if role in compile_.open:  # the previous one never reached its code
                    compile_.close(self._log, record.line)
                compile_.open[role] = text
            case "code":
                compile_.open[CODE] = text
                compile_.close(self._log, record.line)
            case "kernels":
                # They come right after the wrapper that calls them.
                if compile_.graphs and not compile_.open:
                    compile_.kernels.append((compile_.graphs[-1], text))
            case "after code":
                # Maps come after their code; some of AOTInductor's come before it.
                done = compile_.graphs[-1].texts if compile_.graphs else compile_.open
                (compile_.open if compile_.open else done).setdefault(role, text)

    def _begin(self, record: LogRecord) -> _Compile:
        rank = record.rank if self._rank is None else self._rank
        begun = _Compile(record.compile_id, rank, record.pid, record.attempt or 0)
        self._current[record.compile_id] = begun
        self._all.append(begun)
        return begun

    def _compile(self, record: LogRecord, part: Part) -> _Compile:
        known = self._current.get(record.compile_id)
        if known is None:
            return self._begin(record)
        if record.attempt is not None and record.attempt > known.attempt:
            known.restart(record.attempt)
        # Without an id (AOTInductor, export) nothing marks the start of the next one.
        starts_another = record.compile_id is None and known.graphs and part == "compile"
        return self._begin(record) if starts_another else known

    def finish(self) -> list[GraphSource]:
        """Returns the graphs in the order of their codes. Graphs without a code come with the texts
        they have."""
        graphs: list[GraphSource] = []
        for compile_ in self._all:
            if compile_.open or (not compile_.graphs and (compile_.shared or compile_.aot)):
                compile_.close(self._log, compile_.line)
            for graph, kernels in compile_.kernels:
                _with_kernels(graph, kernels)
            _give_aot(compile_)
            for graph in compile_.graphs:
                for role, text in compile_.shared.items():
                    graph.texts.setdefault(role, text)
            graphs += compile_.graphs
        graphs.sort(key=lambda graph: graph.position)
        return graphs


def _with_kernels(graph: GraphSource, kernels: GraphText) -> None:
    code = graph.texts.get(CODE)
    if code is not None and _KERNEL.search(kernels.read()):
        parts = [code.read(), b"\n", kernels.read()]
        label = f"{code.label} and its kernels"
        graph.texts[CODE] = text_of(
            parts, label, f"{code.path.removesuffix('.cpp')}.with_kernels.cpp"
        )


def _give_aot(compile_: _Compile) -> None:
    """Gives each graph the texts that AOTAutograd logged for it.

    Most codes name their graph (`3_backward`); the numbers follow the order of the joint graphs.
    Codes that do not are in that order too, forward before backward.
    """
    numbers: list[str] = []
    for position, graph in enumerate(compile_.graphs):
        number, _, direction = (graph.aot_id or "").partition("_")
        if number and number not in numbers:
            numbers.append(number)
        which = numbers.index(number) if number else min(position, max(len(compile_.aot) - 1, 0))
        logged = compile_.aot[which] if which < len(compile_.aot) else {}
        if set(logged) == {FORWARD}:
            # Until 2.4 a graph for inference was logged as a forward one, which has a joint graph.
            logged = {INFERENCE: logged[FORWARD]}
        graph.direction = direction or _likely(logged, position)
        for name, role in ((graph.direction, AOT), (JOINT, JOINT)):
            if name in logged:
                graph.texts.setdefault(role, logged[name])


def _likely(logged: dict[str, GraphText], position: int) -> str:
    if INFERENCE in logged and BACKWARD not in logged:
        return INFERENCE
    if BACKWARD in logged:
        return BACKWARD if position else FORWARD
    return FORWARD if FORWARD in logged else ""
