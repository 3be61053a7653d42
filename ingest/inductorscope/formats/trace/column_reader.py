"""Columns of numbers, filled from batches of events."""

import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from inductorscope.formats.border import LATEST_US, YEAR_S
from inductorscope.formats.graph.provenance import innermost_places
from inductorscope.formats.trace.categories import (
    ANNOTATION,
    COUNTED,
    DEVICE,
    MTIA_WORK,
    OPERATOR,
    OTHER,
    RUNTIME,
    Group,
    device_kind_of,
    group_of,
)
from inductorscope.formats.trace.event_columns import (
    NOWHERE,
    Collective,
    Events,
    Floats,
    Integers,
    Lane,
    LaunchEvent,
    Span,
    TraceColumns,
)
from inductorscope.formats.trace.events import EventArgs, EventReader, TraceEvent
from inductorscope.formats.trace.shapes import LaunchShape, launch_shape

LONGEST_US = YEAR_S * 1e6
MOST_ELEMENTS = 2**53
MOST_CATEGORIES = 64
"""Most categories of other events; the rest count as one."""
MOST_SHAPES = 100_000
"""Most different shapes of launches to keep."""
MOST_STACKS = 2_000
"""Most kernels whose stacks are kept."""
MOST_NAMED = 10_000
"""Most processes and threads whose names are kept."""

# ProfilerStep#550
_STEP = re.compile(r"^ProfilerStep#\d+$")
# ## Call CompiledFxGraph fal4xpiah2v6blbfmwwonu52dvevbsmlh743q5tkclrt4gcqpzea ##
_GRAPH_CALL = re.compile(r"^## Call CompiledFxGraph (.*) ##$")
# Torch-Compiled Region: 0/0, and without an id in torch 2.2
_COMPILED = re.compile(r"^Torch-Compiled Region(?:: (\S+))?$")
# CompiledFunction, CompiledFunctionBackward
_COMPILED_FUNCTION = "CompiledFunction"
_MARKS = (
    "## Call CompiledFxGraph ",
    "Torch-Compiled Region",
    "ProfilerStep#",
    _COMPILED_FUNCTION,
)


class ColumnReader:
    """Reads batches of events into columns."""

    def __init__(self, reader: EventReader, folder: Path | None = None) -> None:
        """`folder`: for columns too long for memory; by default the system's temporary folder."""
        self.events = 0
        self.counted = 0
        """Kernels without durations: their hardware counters were read."""
        self.kinds: dict[str | None, None] = {}
        """Kinds of devices that the categories of events name."""
        self._reader = reader
        self._names: dict[str, int] = {}
        self._lanes: dict[tuple[object, object], int] = {}
        self._launches: dict[LaunchEvent, int] = {}
        self._shapes: dict[LaunchShape, int] = {}
        self._by_file: dict[tuple[str, str], int] = {}
        self._others: dict[str, int] = {}
        self._process_names: dict[object, str] = {}
        self._thread_names: dict[tuple[object, object], str] = {}
        self._rows = [Events(folder) for _ in range(5)]
        self._graph_calls: list[Span] = []
        self._compiled: list[Span] = []
        self._compiled_functions: list[Span] = []
        self._steps: list[Span] = []
        self._collectives: list[Collective] = []
        self._stacks: dict[str, list[str]] = {}

    def add(self, batch: list[TraceEvent]) -> None:
        self.events += len(batch)
        alike: dict[tuple[str | None, object, str | None], list[TraceEvent]] = defaultdict(list)
        for event in batch:
            if event.ph == "X":
                # Only these need more than their category.
                process = event.pid if event.cat is None else None
                name = event.name if event.cat == MTIA_WORK else None
                alike[event.cat, process, name].append(event)
            elif event.ph == "M":
                self._add_name(event)
        for key, events in alike.items():
            group = self._group(*key, len(events))
            if group.columns == DEVICE:
                self._add_notes(events)
            if not self._add_regular(events, *group):
                mended = [event for event in map(self._mended, events) if event is not None]
                self._add_regular(mended, *group)

    def _add_name(self, event: TraceEvent) -> None:
        """Keeps the name of a process or thread. A device's label is preferred to its name."""
        args = event.args
        if args is None or len(self._process_names) + len(self._thread_names) >= MOST_NAMED:
            return
        if event.name == "process_labels" and isinstance(args.labels, str) and args.labels:
            if args.labels != "CPU":
                self._process_names[event.pid] = _shown(args.labels)
        elif isinstance(args.name, str):
            if event.name == "process_name":
                self._process_names.setdefault(event.pid, _shown(args.name))
            elif event.name == "thread_name":
                self._thread_names[event.pid, event.tid] = _shown(args.name)

    def _add_notes(self, events: list[TraceEvent]) -> None:
        """Keeps collectives, and torch's stacks of kernels, which are the same in every run."""
        for event in events:
            args = event.args
            if args is None:
                continue
            name = event.name or ""
            if args.stack and len(self._stacks) < MOST_STACKS and name not in self._stacks:
                self._stacks[name] = innermost_places(args.stack)
            if args.collective is None or event.ts is None:
                continue
            if not abs(event.ts) <= LATEST_US:
                continue
            (lane,) = _numbered(self._lanes, [(event.pid, event.tid)])
            elements = _number(args.elements)
            self._collectives.append(
                Collective(
                    lane, event.ts, _shown(args.collective), _shown(args.group),
                    elements if 0 <= elements < MOST_ELEMENTS else None,
                )
            )  # fmt: skip

    def _add_regular(self, events: list[TraceEvent], group_number: int, kind: int) -> bool:
        """Adds events of one kind together. Returns False and adds nothing if one of them is
        irregular."""
        names = [event.name for event in events]
        distinct = set(names)
        # Any: events without arguments raise AttributeError, which is caught.
        arguments: list[Any] = [event.args for event in events]
        numbers = None if None in distinct else _times_and_ids(events, arguments, group_number)
        if numbers is None:
            return False
        ts, us, external, correlation = numbers
        lanes = _numbered(self._lanes, [(event.pid, event.tid) for event in events])
        kinds, shapes = [kind] * len(events), [NOWHERE] * len(events)
        marked = group_number in (OPERATOR, ANNOTATION)
        if marked:
            kinds = [self._launch_of(event) for event in events]
        elif group_number == DEVICE:
            shapes = [self._shape_of(argument) for argument in arguments]
        columns = (
            np.array(_numbered(self._names, names), np.int32), np.array(lanes, np.int32),
            np.array(kinds, np.int32), ts, us, external, correlation, np.array(shapes, np.int32),
        )  # fmt: skip
        # Names of spans that structure the trace.
        marks = {name for name in distinct if name and name.startswith(_MARKS)} if marked else None
        if not marks:
            self._rows[group_number].add(*columns)
            return True
        group = np.full(len(events), group_number)
        for place, name in enumerate(names):
            if name in marks:
                group[place] = self._marked(
                    group_number, lanes[place], float(ts[place]), float(us[place]), str(name),
                    _number(arguments[place].sequence),
                )  # fmt: skip
        for number in np.unique(group).tolist():
            self._rows[number].add(*(column[group == number] for column in columns))
        return True

    def _shape_of(self, args: EventArgs) -> int:
        """Returns the number of the launch's shape; NOWHERE if the event does not have it."""
        if args.grid is None or len(self._shapes) >= MOST_SHAPES:
            return NOWHERE
        values = (args.grid, args.block, args.registers, args.shared, args.percent)
        shape = launch_shape(values)
        return NOWHERE if shape is None else self._shapes.setdefault(shape, len(self._shapes))

    def _mended(self, event: TraceEvent) -> TraceEvent | None:
        """The event with default values for missing fields; None for one that is left out."""
        name, duration, start = event.name, event.dur, event.ts
        if name is None:
            return None
        if duration is not None and not 0 <= duration <= LONGEST_US:  # including NaN
            self._reader.repair("an event with an impossible duration was left out", name)
            return None
        if start is None or not abs(start) <= LATEST_US:
            self._reader.repair("an event without a time stamp counts from 0", name)
            start = 0.0
        args = event.args or EventArgs()
        external, correlation = _number(_external_id(args)), _number(args.correlation)
        args = replace(args, external_id=external, correlation=correlation)
        return replace(event, ts=start, dur=duration or 0.0, args=args)

    def _group(self, category: str | None, process: object, name: str | None, count: int) -> Group:
        """The group of events, and their kind in it."""
        if category is not None:
            self.kinds.setdefault(device_kind_of(category))
            if category.lower() == COUNTED:
                self.counted += count
        known = group_of(category, process, name)
        if known is not None:
            return known
        full = len(self._others) >= MOST_CATEGORIES
        other = "" if category is None or full else category[:100]
        return Group(OTHER, self._others.setdefault(other, len(self._others)))

    def _marked(
        self, group: int, lane: int, start: float, duration: float, name: str, sequence: int
    ) -> int:
        """Records a span that structures the trace; returns its group."""
        if match := _GRAPH_CALL.match(name):
            self._graph_calls.append(Span(lane, start, duration, match.group(1)))
            return ANNOTATION
        if match := _COMPILED.match(name):
            self._compiled.append(Span(lane, start, duration, match.group(1) or ""))
        elif name.startswith(_COMPILED_FUNCTION):
            self._compiled_functions.append(Span(lane, start, duration, f"{name} {sequence}"))
        elif _STEP.match(name):
            self._steps.append(Span(lane, start, duration, name))
            return ANNOTATION
        return group

    def _launch_of(self, event: TraceEvent) -> int:
        arguments, name = event.args, event.name or ""
        file = None if arguments is None else arguments.kernel_file
        if arguments is None or not (file or arguments.kernel_backend == "triton"):
            return NOWHERE
        if isinstance(file, str):
            known = self._by_file.get((name, file))
            if known is not None:
                return known
        launch = LaunchEvent(name, _text(file), _text(arguments.kernel_hash))
        number = self._launches.setdefault(launch, len(self._launches))
        if launch.file is not None:
            self._by_file[name, launch.file] = number
        return number

    def finish(self) -> TraceColumns:
        device, calls, ops, annotations, others = self._rows
        return TraceColumns(
            names=list(self._names),
            lanes=[
                Lane(
                    _shown(process), _shown(thread), self._process_names.get(process, ""),
                    self._thread_names.get((process, thread), "").strip(),
                )
                for process, thread in self._lanes
            ],
            device=device,
            ops=ops,
            calls=calls,
            launches=list(self._launches),
            shapes=list(self._shapes),
            annotations=annotations,
            others=others,
            other_categories=list(self._others),
            graph_calls=self._graph_calls,
            compiled=self._compiled,
            compiled_functions=self._compiled_functions,
            steps=self._steps,
            collectives=self._collectives,
            stacks=self._stacks,
        )  # fmt: skip


def _numbered(known: dict[Any, int], values: Sequence[object]) -> list[int]:
    """Returns the number of each value; new values get the next number."""
    for value in dict.fromkeys(values):
        if value not in known:
            known[value] = len(known)
    return [known[value] for value in values]


def _times_and_ids(
    events: list[TraceEvent], arguments: list[Any], group_number: int
) -> tuple[Floats, Floats, Integers, Integers] | None:
    """Returns starts, durations, external ids and correlations; None if an event is irregular."""
    external = correlation = np.full(len(events), -1, np.int64)
    try:
        ts = np.array([event.ts for event in events], np.float64)
        us = np.array([event.dur for event in events], np.float64)
        if group_number != OTHER:
            ids = [argument.external_id for argument in arguments]
            if None in ids:
                ids = [_external_id(argument) for argument in arguments]
            external = _ids(ids)
        if group_number <= RUNTIME:
            correlation = _ids([argument.correlation for argument in arguments])
    except (TypeError, ValueError, OverflowError, AttributeError):
        return None
    usual = (np.abs(ts) <= LATEST_US).all() and (us >= 0).all() and (us <= LONGEST_US).all()
    return (ts, us, external, correlation) if usual else None


def _external_id(arguments: EventArgs | None) -> object:
    """The external id, in the current or the first spelling."""
    if arguments is None:
        return None
    current = arguments.external_id
    return arguments.old_external_id if current is None else current


def _ids(values: list[object]) -> Integers:
    """Returns ids as numbers, -1 for none. Raises ValueError if some are not written as numbers."""
    if None in values:
        values = [-1 if value is None else value for value in values]
    numbers = np.array(values)
    if numbers.dtype != np.int64:
        raise ValueError(numbers.dtype)
    ids: Integers = np.maximum(numbers, -1)
    return ids


def _number(value: object) -> int:
    """An id as a number within the range of a column; -1 for none."""
    if type(value) is int and 0 <= value < 2**63:  # the usual case
        return value
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        value = int(value)
    if isinstance(value, int) and 0 <= value < 2**63:
        return value
    return -1


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _shown(value: object) -> str:
    return "" if value is None else str(value)[:200]
