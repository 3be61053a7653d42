"""Events of a trace as columns of numbers: a trace can have millions of them.

Three kinds are kept: work of devices, what the processor's threads ran (operators and the spans
that programs mark), and calls of the driver, which launch the former for the latter.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from inductorscope.formats.trace.columns import Column

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]
Truths = npt.NDArray[np.bool_]

KERNEL, MEMCPY, MEMSET = 0, 1, 2
DEVICE_KINDS = ("kernel", "memcpy", "memset")
NOWHERE = -1

CODES = "iiiddqq"
"""Types of an event's numbers: name, lane, kind, ts, us, external, correlation."""


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


class Events:
    """Events of one kind in the order of the file. Times are µs; `external` and `correlation` are
    -1 where an event has none.

    There can be more than should be held in memory: each column is read when it is asked for.
    """

    def __init__(self, folder: Path | None) -> None:
        self._all = tuple(Column(code, folder) for code in CODES)
        (
            self._names, self._lanes, self._kinds, self._begins, self._lengths, self._externals,
            self._correlations,
        ) = self._all  # fmt: skip

    def __len__(self) -> int:
        return len(self._names)

    def add(self, *columns: npt.NDArray[Any]) -> None:
        """Events that follow: name, lane, kind, ts, us, external, correlation."""
        for column, values in zip(self._all, columns, strict=True):
            column.add(values)

    @property
    def name(self) -> Numbers:
        return self._names.numbers()

    @property
    def lane(self) -> Numbers:
        return self._lanes.numbers()

    @property
    def ts(self) -> Floats:
        return self._begins.numbers()

    @property
    def us(self) -> Floats:
        return self._lengths.numbers()

    @property
    def end(self) -> Floats:
        ended: Floats = self._begins.numbers() + self._lengths.numbers()
        return ended

    @property
    def external(self) -> Integers:
        return self._externals.numbers()

    @property
    def correlation(self) -> Integers:
        return self._correlations.numbers()

    @property
    def kind(self) -> Numbers:
        """Of device work: `KERNEL`, `MEMCPY` or `MEMSET`; of operators: a `Launch`, else
        NOWHERE."""
        return self._kinds.numbers()


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
