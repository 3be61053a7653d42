"""Names the longest gaps of a device by what the thread that launched the next work did in them.

A gap belongs to the event that covers at least half of it. Of several, an operator counts more than
a function of Python, and the outermost operator more than those inside it. Gaps with the same name
are one wait.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

import msgspec
import numpy as np

from inductorscope.analyze.time.facts import Wait, WaitKind
from inductorscope.analyze.time.idle.blocking import blocking_calls, captures, searches
from inductorscope.analyze.time.idle.states import (
    DATA_LOADER,
    ORDINARY_US,
    Gaps,
    covered_by,
    overhead_cover,
)
from inductorscope.analyze.time.idle.window import first_moment, is_first
from inductorscope.analyze.time.intervals import Cover, cover, joined
from inductorscope.analyze.time.parts import ONCE_PARTS
from inductorscope.formats.trace.event_columns import NOWHERE, Events, Numbers, Truths
from inductorscope.formats.trace.kineto import TraceEvents

MOST = 256
"""Most gaps that are named, the longest first."""
MOST_WAITS = 8
HOST_WORK_US = 1_000.0
"""Shorter gaps are not taken for work of several operators on the host."""
LONGEST_NAME = 200
ALLOCATING = 0.2
"""Share of a gap that calls for memory take, to explain it: the host waits around them too."""

_COMPILES = re.compile(
    r"\(dynamo_timed\)|^torch/_(?:dynamo|inductor|functorch)/(?!.*(?:eval_frame|output_code"
    r"|runtime_wrappers|cudagraph_trees)\.py)|CachingAutotuner|^triton/compiler/"
)
_WRAPPERS = re.compile(
    r"^(?:Torch-Compiled Region|CompiledFunction|ProfilerStep#|autograd::engine|TorchDynamo Cache"
    r"|AOTDispatcher Runtime|Pregraph bytecode|Inductor Lookup|## Call CompiledFxGraph)"
)
"""Events that contain operators, rather than being one."""
_ALLOCATES = re.compile(r"^(?:cuda|hip)(?:Malloc|Free)(?:Async|Managed)?$")
# switch_transformers/model.py(343): forward
_FRAME = re.compile(r"^(?P<file>.+\.py)\((?P<line>\d+)\): (?P<function>.+)$")
_LIBRARY = re.compile(
    r"(?:^|/)(?:torch|site-packages|dist-packages|lib/python[\d.]+|multiprocessing|numpy|triton)/"
    r"|^(?:threading|contextlib|runpy|queue|selectors|functools|asyncio/\w+|concurrent/.+)\.py"
)


class _Gap(NamedTuple):
    begin: float
    end: float
    work: int
    lane: int
    called: float
    returned: float

    @property
    def middle(self) -> float:
        return (self.begin + self.end) / 2


class _Around(msgspec.Struct):
    """The events of one kind that cover at least half of a gap, the outermost first."""

    numbers: list[int]
    names: list[str]


class Named(msgspec.Struct):
    """The waits with the longest gaps, the longest first, and the gaps that only first steps
    have."""

    waits: list[Wait]
    once: dict[str, Truths]
    """For each of `ONCE_PARTS` its gaps."""


def named_waits(events: TraceEvents, gaps: Gaps, start: float) -> Named:
    """Names the longest gaps, except ordinary pauses between kernels. `start`: the first moment of
    the trace."""
    names = _Names(events)
    found: dict[tuple[str, str, str, int], Wait] = {}
    once = {name: np.zeros(len(gaps.begin), np.bool_) for name in ONCE_PARTS}
    for place in np.argsort(-gaps.us, kind="stable")[:MOST].tolist():
        gap = _Gap(*(getattr(gaps, name)[place].item() for name in _Gap._fields))
        us = gap.end - gap.begin
        if us < ORDINARY_US:
            break
        new = names.of(gap)
        new.us = new.longest_us = us
        new.at_us = gap.begin - start
        if new.kind in once:
            once[new.kind][place] = True
        wait = found.setdefault((new.kind, new.name, new.file, new.line), new)
        if wait is not new:
            wait.count += 1
            wait.us += us
    return Named(sorted(found.values(), key=lambda wait: -wait.us)[:MOST_WAITS], once)


def loading_waits(events: TraceEvents, lane: int) -> list[Wait]:
    """The times in which a thread loads data, for a trace without device work."""
    waits = []
    for kind in (events.columns.ops, events.columns.annotations):
        for number, name in enumerate(events.columns.names):
            which = np.flatnonzero((kind.name == number) & (kind.lane == lane))
            if name.startswith(DATA_LOADER) and len(which):
                us, longest = kind.us[which], which[kind.us[which].argmax()]
                at = float(kind.ts[longest]) - first_moment(events)
                waits.append(
                    Wait("loading data", name, len(us), float(us.sum()), float(us.max()), at_us=at)
                )
    return waits


class _Names:
    """Names gaps."""

    def __init__(self, events: TraceEvents) -> None:
        self._events = events
        self._texts = events.columns.names
        self._wrapping = np.array([bool(_WRAPPERS.match(name)) for name in self._texts])
        self._allocates = np.array([bool(_ALLOCATES.match(name)) for name in self._texts])
        self._blocks = blocking_calls(events)
        self._searches = searches(events)
        self._captures = captures(events.columns)
        self._overhead = overhead_cover(events)
        self._covers: dict[int, Cover] = {}
        self._first_work = _first_of_name(events.columns.device)
        self._rules: tuple[Callable[[_Gap, dict[str, _Around]], Wait | None], ...] = (
            self._profiler, self._queued, self._data_loader, self._capture, self._compiling,
            self._call, self._operator, self._memory, self._after_blocking, self._several,
            self._python, self._span,
        )  # fmt: skip

    def of(self, gap: _Gap) -> Wait:
        columns = self._events.columns
        kinds = {
            "ops": columns.ops, "calls": columns.calls, "spans": columns.annotations,
            "python": columns.others,
        }  # fmt: skip
        around = {kind: self._around(gap, events) for kind, events in kinds.items()}
        wait = next(filter(None, (rule(gap, around) for rule in self._rules)), None)
        wait = wait or _wait("unnamed", "")
        frame = self._frame(around["python"])
        if frame is not None:
            wait.file, wait.line = frame["file"], int(frame["line"])
            wait.function = frame["function"][:LONGEST_NAME]
        return wait

    def _around(self, gap: _Gap, events: Events) -> _Around:
        ts, end = events.ts, events.end
        which = (events.lane == gap.lane) & (ts <= gap.middle) & (end >= gap.middle)
        numbers = np.flatnonzero(which)
        covered = np.minimum(end[numbers], gap.end) - np.maximum(ts[numbers], gap.begin)
        numbers = numbers[covered >= (gap.end - gap.begin) / 2]
        numbers = numbers[np.lexsort((-events.us[numbers], ts[numbers]))]
        return _Around(numbers.tolist(), [self._texts[name] for name in events.name[numbers]])

    def _frame(self, python: _Around) -> dict[str, str] | None:
        """The innermost function of the program's own files."""
        for name in reversed(python.names):
            match = _FRAME.match(name)
            if match and not _LIBRARY.search(match["file"]):
                return match.groupdict()
        return None

    def _profiler(self, gap: _Gap, _around: dict[str, _Around]) -> Wait | None:
        edges = np.array([gap.begin]), np.array([gap.end])
        most = self._overhead.within(*edges)[0] >= (gap.end - gap.begin) / 2
        return _wait("profiler", "") if most else None

    def _queued(self, gap: _Gap, _around: dict[str, _Around]) -> Wait | None:
        """The work was launched in time, and the device started it late."""
        if gap.lane == NOWHERE or gap.called > gap.begin or gap.returned >= gap.middle:
            return None
        calls = self._events.columns.calls
        call = NOWHERE if gap.work == NOWHERE else self._events.launched.call[gap.work]
        return _wait("queued", "" if call == NOWHERE else self._texts[calls.name[call]])

    def _data_loader(self, _gap: _Gap, around: dict[str, _Around]) -> Wait | None:
        names = (*around["ops"].names, *around["spans"].names)
        name = next((name for name in names if name.startswith(DATA_LOADER)), None)
        return None if name is None else _wait("loading data", name)

    def _capture(self, gap: _Gap, _around: dict[str, _Around]) -> Wait | None:
        for span in self._captures:
            if span.lane == gap.lane and span.ts <= gap.middle <= span.ts + span.us:
                return _wait("capturing a graph", "")
        return None

    def _compiling(self, _gap: _Gap, around: dict[str, _Around]) -> Wait | None:
        names = (name for kind in ("spans", "ops", "python") for name in around[kind].names)
        name = next((name for name in names if _COMPILES.search(name)), None)
        return None if name is None else _wait("compiling", name)

    def _call(self, gap: _Gap, around: dict[str, _Around]) -> Wait | None:
        calls = self._events.columns.calls
        for number, name in zip(around["calls"].numbers, around["calls"].names, strict=True):
            inside = next((op for op in around["ops"].names if not _WRAPPERS.match(op)), "")
            if self._blocks[number]:
                return _wait("blocking", name, inside)
            launches = gap.work != NOWHERE and self._events.launched.call[gap.work] == number
            new = not launches or bool(self._first_work[gap.work])
            return _wait("first calls" if new and is_first(calls, number) else "call", name, inside)
        return None

    def _operator(self, gap: _Gap, around: dict[str, _Around]) -> Wait | None:
        ops = self._events.columns.ops
        for number, name in zip(around["ops"].numbers, around["ops"].names, strict=True):
            if _WRAPPERS.match(name):
                continue
            if self._searches.intersection(around["ops"].numbers):
                return _wait("searching", name)
            launches = gap.work != NOWHERE and bool(self._first_work[gap.work])
            first = launches and is_first(ops, number) and (ops.name == ops.name[number]).sum() > 1
            if first:
                return _wait("first calls", name)
            ended = float(ops.end[number]) < gap.called
            return _wait("host operator" if ended else "operator", name)
        return None

    def _memory(self, gap: _Gap, _around: dict[str, _Around]) -> Wait | None:
        """Calls that take memory from the driver, or give it back, cover a part of it: each of them
        may be short."""
        calls = self._events.columns.calls
        own = np.flatnonzero(self._allocates[calls.name] & (calls.lane == gap.lane))
        us = np.minimum(calls.end[own], gap.end) - np.maximum(calls.ts[own], gap.begin)
        if np.maximum(us, 0.0).sum() < ALLOCATING * (gap.end - gap.begin):
            return None
        return _wait("call", self._texts[calls.name[own[us.argmax()]]])

    def _after_blocking(self, gap: _Gap, _around: dict[str, _Around]) -> Wait | None:
        """The host waited for the device until the gap began, so that nothing was queued. It could
        have worked ahead for as long as it waited."""
        calls, ops = self._events.columns.calls, self._events.columns.ops
        ts, end = calls.ts, calls.end
        which = self._blocks & (calls.lane == gap.lane) & (ts < gap.begin) & (end >= gap.begin)
        for number in np.flatnonzero(which)[:1].tolist():
            if gap.begin - ts[number] < gap.end - gap.begin:
                return None
            outer = (ops.lane == gap.lane) & (ops.ts <= ts[number]) & (ops.end >= end[number])
            names = [self._texts[name] for name in ops.name[np.flatnonzero(outer)]]
            inside = next((name for name in names if not _WRAPPERS.match(name)), "")
            return _wait("blocking", self._texts[calls.name[number]], inside)
        return None

    def _several(self, gap: _Gap, _around: dict[str, _Around]) -> Wait | None:
        """Operators and calls cover most of it, each of them only a part."""
        columns = self._events.columns
        if gap.lane not in self._covers:
            both = (covered_by(events, gap.lane) for events in (columns.ops, columns.calls))
            self._covers[gap.lane] = joined(*both)
        edges = np.array([gap.begin]), np.array([gap.end])
        half = (gap.end - gap.begin) / 2
        if gap.end - gap.begin >= HOST_WORK_US:
            # What ends before the next launch launched nothing: it ran on the host.
            ops = columns.ops
            own = np.flatnonzero(
                (ops.lane == gap.lane)
                & (ops.ts >= gap.begin)
                & (ops.end <= gap.called)
                & ~self._wrapping[ops.name]
            )
            if len(own) and cover(ops.ts[own], ops.us[own]).total >= half:
                return _wait("host operator", self._texts[ops.name[own[ops.us[own].argmax()]]])
        most = self._covers[gap.lane].within(*edges)[0] >= half
        return _wait("operator", "") if most else None

    def _python(self, _gap: _Gap, around: dict[str, _Around]) -> Wait | None:
        frame = self._frame(around["python"])
        return None if frame is None else _wait("python", frame["function"])

    def _span(self, _gap: _Gap, around: dict[str, _Around]) -> Wait | None:
        names = [name for name in around["spans"].names if not _WRAPPERS.match(name)]
        return _wait("python", "", names[-1]) if names else None


def _wait(kind: WaitKind, name: str, inside: str = "") -> Wait:
    return Wait(kind, name[:LONGEST_NAME], 1, 0.0, 0.0, at_us=0.0, inside=inside[:LONGEST_NAME])


def _first_of_name(device: Events) -> Truths:
    """Whether each piece of work is the first of its name."""
    first = np.zeros(len(device), np.bool_)
    order: Numbers = np.argsort(device.ts, kind="stable").astype(np.int32)
    _, place = np.unique(device.name[order], return_index=True)
    first[order[place]] = True
    return first
