"""Events of a trace as columns of numbers: a trace can have millions of them.

Three kinds are kept: work of devices, what the processor's threads ran (operators and the spans
that programs mark), and calls of the driver, which launch the former for the latter.
"""

from __future__ import annotations

import math
import re
from array import array
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from inductorscope.formats.chrome_events import EventArgs, EventReader, TraceEvent

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]
Truths = npt.NDArray[np.bool_]

KERNEL, MEMCPY, MEMSET = 0, 1, 2
DEVICE_KINDS = ("kernel", "memcpy", "memset")
NOWHERE = -1
LONGEST_US = 7 * 24 * 3600 * 1e6
"""A week: a longer event is a broken time stamp."""

_DEVICE, _RUNTIME, _OPERATOR, _ANNOTATION = range(4)
# Upper case and bare names are those of the first versions.
_GROUPS = {
    "kernel": (_DEVICE, KERNEL), "gpu_memcpy": (_DEVICE, MEMCPY), "memcpy": (_DEVICE, MEMCPY),
    "gpu_memset": (_DEVICE, MEMSET), "memset": (_DEVICE, MEMSET),
    "cuda_runtime": (_RUNTIME, 0), "cuda_driver": (_RUNTIME, 0), "runtime": (_RUNTIME, 0),
    "driver": (_RUNTIME, 0), "xpu_runtime": (_RUNTIME, 0), "hip_runtime": (_RUNTIME, 0),
    "cpu_op": (_OPERATOR, 0), "operator": (_OPERATOR, 0), "user_annotation": (_ANNOTATION, 0),
}  # fmt: skip

# ProfilerStep#550
_STEP = re.compile(r"^ProfilerStep#\d+$")
# ## Call CompiledFxGraph fal4xpiah2v6blbfmwwonu52dvevbsmlh743q5tkclrt4gcqpzea ##
_GRAPH_CALL = re.compile(r"^## Call CompiledFxGraph (.*) ##$")
# Torch-Compiled Region: 0/0
_COMPILED = re.compile(r"^Torch-Compiled Region: (\S+)$")
# CompiledFunction, CompiledFunctionBackward
_COMPILED_FUNCTION = "CompiledFunction"


@dataclass(frozen=True, slots=True)
class Lane:
    """Where events follow one another: a stream of a device, or a thread of a process."""

    process: str
    thread: str


@dataclass(frozen=True, slots=True)
class Launch:
    """A Triton kernel, as the operator that launches it tells."""

    name: str
    file: str | None
    hash: str | None
    gigabytes: float | None = None
    """What it reads and writes, where kernels were benchmarked."""
    flop: float | None = None


@dataclass(slots=True)
class Events:
    """Events of one kind in the order of the file. Times are µs; `external` and `correlation` are
    -1 where an event has none."""

    name: Numbers
    lane: Numbers
    ts: Floats
    us: Floats
    external: Integers
    correlation: Integers
    kind: Numbers
    """Of device work: `KERNEL`, `MEMCPY` or `MEMSET`; of operators: a `Launch`, else NOWHERE."""

    def __len__(self) -> int:
        return len(self.name)

    @property
    def end(self) -> Floats:
        ended: Floats = self.ts + self.us
        return ended


@dataclass(slots=True)
class Span:
    """A stretch of a thread that a program marked."""

    lane: int
    ts: float
    us: float
    text: str


@dataclass(slots=True)
class TraceColumns:
    """All events of a trace that tell of time."""

    names: list[str]
    lanes: list[Lane]
    device: Events
    ops: Events
    """Operators; spans that programs mark are none."""
    calls: Events
    """Calls of the driver and its runtime."""
    launches: list[Launch]
    annotations: Events
    graph_calls: list[Span]
    """Calls of compiled graphs; their text is the graph's key."""
    compiled: list[Span]
    """Regions that Dynamo compiled; their text is the compile id."""
    compiled_functions: list[Span] = field(default_factory=list)
    """What autograd calls compiled code by, the only sign of it in traces of torch 2.0."""
    steps: list[Span] = field(default_factory=list)
    """Steps of the profiler."""


class _Rows:
    """Events of one kind while they are read."""

    def __init__(self) -> None:
        self.name, self.lane, self.kind = array("i"), array("i"), array("i")
        self.ts, self.us = array("d"), array("d")
        self.external, self.correlation = array("q"), array("q")

    def events(self) -> Events:
        """What was read; nothing can be added after."""
        return Events(
            np.frombuffer(self.name, np.int32), np.frombuffer(self.lane, np.int32),
            np.frombuffer(self.ts, np.float64), np.frombuffer(self.us, np.float64),
            np.frombuffer(self.external, np.int64), np.frombuffer(self.correlation, np.int64),
            np.frombuffer(self.kind, np.int32),
        )  # fmt: skip


class ColumnReader:
    """Puts batches of events into columns."""

    def __init__(self, reader: EventReader) -> None:
        self.events = 0
        self._reader = reader
        self._names: dict[str, int] = {}
        self._lanes: dict[tuple[object, object], int] = {}
        self._launches: dict[Launch, int] = {}
        self._by_file: dict[tuple[str, str], int] = {}
        self._groups = dict(_GROUPS)
        self._rows = [_Rows() for _ in range(4)]
        self._graph_calls: list[Span] = []
        self._compiled: list[Span] = []
        self._compiled_functions: list[Span] = []
        self._steps: list[Span] = []

    def add(self, batch: list[TraceEvent]) -> None:
        self.events += len(batch)
        names, lanes, groups, rows = self._names, self._lanes, self._groups, self._rows
        for event in batch:
            category, name = event.cat, event.name
            if event.ph != "X" or category is None or name is None:
                continue
            group = groups.get(category)
            if group is None:
                group = self._group(category)
                if group is None:
                    continue
            duration = event.dur
            if duration is None:
                duration = 0.0
            elif not 0 <= duration < LONGEST_US:  # also when it is no number
                self._reader.repair("an event with an impossible duration was left out", name)
                continue
            start = event.ts
            if start is None or not math.isfinite(start):
                self._reader.repair("an event without a time of its own counts from 0", name)
                start = 0.0
            which, kind = group
            where = (event.pid, event.tid)
            lane = lanes.get(where)
            if lane is None:
                lane = lanes[where] = len(lanes)
            external = correlation = -1
            arguments = event.args
            if arguments is not None:
                given = arguments.external_id
                if given is None:
                    given = arguments.old_external_id
                if given is not None:
                    external = _number(given)
                if which <= _RUNTIME:
                    given = arguments.correlation
                    if given is not None:
                        correlation = _number(given)
            if which >= _OPERATOR:
                if name[:1] in "#CPT":
                    which = self._marked(which, lane, start, duration, name)
                kind = NOWHERE
                if arguments is not None and (
                    arguments.kernel_file is not None or arguments.kernel_backend is not None
                ):
                    kind = self._launch(name, arguments)
            number = names.get(name)
            if number is None:
                number = names[name] = len(names)
            columns = rows[which]
            columns.name.append(number)
            columns.lane.append(lane)
            columns.kind.append(kind)
            columns.ts.append(start)
            columns.us.append(duration)
            columns.external.append(external)
            columns.correlation.append(correlation)

    def _group(self, category: str) -> tuple[int, int] | None:
        """Of a category that is spelled otherwise; of most there is none."""
        group = _GROUPS.get(category.lower())
        if group is not None:
            self._groups[category] = group
        return group

    def _marked(self, which: int, lane: int, start: float, duration: float, name: str) -> int:
        """Notes a span that structures the trace; the group it is kept in."""
        if found := _GRAPH_CALL.match(name):
            self._graph_calls.append(Span(lane, start, duration, found.group(1)))
            return _ANNOTATION
        if found := _COMPILED.match(name):
            self._compiled.append(Span(lane, start, duration, found.group(1)))
        elif name.startswith(_COMPILED_FUNCTION):
            self._compiled_functions.append(Span(lane, start, duration, name))
        elif _STEP.match(name):
            self._steps.append(Span(lane, start, duration, name))
            return _ANNOTATION
        return which

    def _launch(self, name: str, arguments: EventArgs) -> int:
        file = arguments.kernel_file
        if not file and arguments.kernel_backend != "triton":
            return NOWHERE
        if isinstance(file, str):
            known = self._by_file.get((name, file))
            if known is not None:
                return known
        launch = Launch(
            name, _text(file), _text(arguments.kernel_hash),
            _measure(arguments.kernel_num_gb), _measure(arguments.kernel_flop),
        )  # fmt: skip
        number = self._launches.setdefault(launch, len(self._launches))
        if launch.file is not None:
            self._by_file[name, launch.file] = number
        return number

    def finish(self) -> TraceColumns:
        device, calls, ops, annotations = (rows.events() for rows in self._rows)
        return TraceColumns(
            names=list(self._names),
            lanes=[Lane(_shown(process), _shown(thread)) for process, thread in self._lanes],
            device=device,
            ops=ops,
            calls=calls,
            launches=list(self._launches),
            annotations=annotations,
            graph_calls=self._graph_calls,
            compiled=self._compiled,
            compiled_functions=self._compiled_functions,
            steps=self._steps,
        )


def _number(value: object) -> int:
    """An id as a number that fits a column; -1 for none."""
    if type(value) is int and 0 <= value < 2**63:  # nearly always
        return value
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        value = int(value)
    if isinstance(value, int) and 0 <= value < 2**63:
        return value
    return -1


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _measure(value: object) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e18:
        return float(value)
    return None


def _shown(value: object) -> str:
    return "" if value is None else str(value)[:200]
