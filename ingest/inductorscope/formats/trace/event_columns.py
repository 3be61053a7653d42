"""Events of a trace as columns of numbers, because a trace can have millions of them.

The columns hold work of devices, operators and marked spans of CPU threads, calls of the driver
that launch device work, and all other events that have a duration.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import SpooledTemporaryFile, gettempdir
from typing import Any
from weakref import finalize

import msgspec
import numpy as np
import numpy.typing as npt

from inductorscope.formats.trace.shapes import LaunchShape

HELD_BYTES = 256 * 1024
"""Bytes of one column in memory; a longer one is written to a file."""


class NoRoomError(OSError):
    """A column cannot be written to disk; the message names the folder."""


class Column:
    """Numbers of one type, in order. Their file is anonymous and is deleted with the column."""

    def __init__(self, code: str, folder: Path | None = None) -> None:
        """`code`: a type code of `array`. `folder`: the folder for the file."""
        self._type = np.dtype(code)
        self._folder = folder
        place = None if folder is None else str(folder)
        self._file = SpooledTemporaryFile(HELD_BYTES, dir=place)  # noqa: SIM115  # open while it is
        self._count = 0
        finalize(self, self._file.close)

    def __len__(self) -> int:
        return self._count

    def add(self, values: npt.NDArray[Any]) -> None:
        with self._having_room():
            self._file.write(values.astype(self._type, copy=False).tobytes())
        self._count += len(values)

    def numbers(self) -> npt.NDArray[Any]:
        """Returns all numbers; nothing may be added afterwards. Each use reads the file again, so
        keep the result only while you need it."""
        with self._having_room():  # for what is still to be written
            self._file.seek(0)
        numbers = np.frombuffer(self._file.read(), self._type)
        if len(numbers) < self._count:
            raise OSError("The temporary file of a column is shorter than what was written.")
        return numbers

    @contextmanager
    def _having_room(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            place = self._folder or gettempdir()
            raise NoRoomError(
                f"a long trace's events cannot be written to {place} for the time being "
                f"({error.strerror}). Make room there, or name another folder with TMPDIR."
            ) from error


Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]
Truths = npt.NDArray[np.bool_]

KERNEL, MEMCPY, MEMSET = 0, 1, 2
DEVICE_KINDS = ("kernel", "memcpy", "memset")
NOWHERE = -1

CODES = {
    "name": "i", "lane": "i", "kind": "i", "ts": "d", "us": "d", "external": "q",
    "correlation": "q", "shape": "i",
}  # fmt: skip
"""An event's columns and their type codes."""


class Lane(msgspec.Struct, frozen=True):
    """A sequence of events: a stream of a device, or a thread of a process."""

    process: str
    thread: str
    process_name: str = ""
    """As the trace names it: "python"; for a device its label, "GPU 0"."""
    thread_name: str = ""


class LaunchEvent(msgspec.Struct, frozen=True):
    """A Triton kernel, as described by the operator that launches it."""

    name: str
    file: str | None
    hash: str | None


class Events:
    """Events of one kind, in the order of the file. Times are in µs; `external` and `correlation`
    are -1 when an event has none.

    They may not fit into memory: each access reads a column.
    """

    name: Numbers
    lane: Numbers
    kind: Numbers
    """For device work `KERNEL`, `MEMCPY` or `MEMSET`; for operators the index of a `LaunchEvent`,
    or NOWHERE; for other events the index of their category."""
    ts: Floats
    us: Floats
    external: Integers
    correlation: Integers
    shape: Numbers
    """For kernels the index of a `LaunchShape`, or NOWHERE."""

    def __init__(self, folder: Path | None) -> None:
        self._columns = {name: Column(code, folder) for name, code in CODES.items()}

    def __getattr__(self, name: str) -> npt.NDArray[Any]:
        if name not in CODES:
            raise AttributeError(name)
        return self._columns[name].numbers()

    def __len__(self) -> int:
        return len(self._columns["name"])

    def add(self, *columns: npt.NDArray[Any]) -> None:
        """Appends events, by the columns of `CODES`."""
        for column, values in zip(self._columns.values(), columns, strict=True):
            column.add(values)

    @property
    def end(self) -> Floats:
        ended: Floats = self.ts + self.us
        return ended


class Span(msgspec.Struct):
    """A span of a thread that a program marked."""

    lane: int
    ts: float
    us: float
    text: str


class Collective(msgspec.Struct):
    """What a device's event says about its collective."""

    lane: int
    ts: float
    name: str
    group: str
    """The process group."""
    elements: int | None


class TraceColumns(msgspec.Struct):
    """All events of a trace that affect times."""

    names: list[str]
    lanes: list[Lane]
    device: Events
    ops: Events
    """Operators, without spans marked by programs."""
    calls: Events
    """Calls of the driver and its runtime."""
    launches: list[LaunchEvent]
    shapes: list[LaunchShape]
    annotations: Events
    others: Events
    """Events of all other categories, such as Python functions."""
    other_categories: list[str]
    graph_calls: list[Span]
    """Calls of compiled graphs; the text is the graph's key."""
    compiled: list[Span]
    """Regions that Dynamo compiled; the text is the compile id."""
    compiled_functions: list[Span] = msgspec.field(default_factory=list)
    """Autograd functions that call compiled code, its only trace in torch 2.0; the text ends with
    the number that a backward has in common with its forward, or -1."""
    steps: list[Span] = msgspec.field(default_factory=list)
    """Steps of the profiler."""
    collectives: list[Collective] = msgspec.field(default_factory=list)
    stacks: dict[str, list[str]] = msgspec.field(default_factory=dict)
    """Kernel → the innermost lines of the stacks that torch recorded for it."""

    @property
    def compiled_code(self) -> list[Span]:
        """Spans in which compiled code runs. Dynamo's regions have what it skipped too, such as
        functions after a graph break."""
        return [*(self.graph_calls or self.compiled), *self.compiled_functions]
