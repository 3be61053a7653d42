"""Reports of Nsight Compute, `.ncu-rep`.

A report is the bytes `NVR\\0`, a header, and blocks. A block is its own header, then compiled code
and the launches that were profiled. Each part is a protocol buffers message, preceded by its length
in four bytes; Nsight Compute's folder `extras/FileFormat` describes them.
"""

import math
import struct
from collections.abc import Iterator

import msgspec

from inductorscope.formats.border import is_within

MAGIC = b"NVR\0"
STALLED = "smsp__pcsamp_warps_issue_stalled_"
"""Metrics of samples that found a warp at an instruction, by the reason for waiting there."""
NOT_ISSUED = "_not_issued"
"""Suffix of the metrics that repeat those samples for cycles in which no warp was issued."""
EXECUTED = "inst_executed"
SECTORS = "memory_l2_theoretical_sectors_global"
DURATION, READ, WRITTEN, OCCUPANCY = FIGURES = (
    "gpu__time_duration.sum", "dram__bytes_read.sum", "dram__bytes_write.sum",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
)  # fmt: skip
_LENGTH = struct.Struct("<I")
_FLOAT, _DOUBLE = struct.Struct("<f"), struct.Struct("<d")
_LONGEST_NUMBER = 10

# Fields of the messages
_SOURCES, _RESULTS, _STRINGS, _PAYLOAD = 1, 2, 4, 5
_STRING = 1
_SOURCE_ID, _SOURCE_CODE = 1, 4
_FUNCTION, _METRIC, _SOURCE = 6, 13, 15
_METRIC_NAME, _METRIC_VALUE, _METRIC_OF_INSTANCE = 1, 2, 3
_INSTANCE, _INSTANCE_VALUE = 1, 2

Value = int | float | memoryview


class ProfiledLaunch(msgspec.Struct):
    """One profiled launch of a kernel."""

    kernel: str
    code: int = 0
    """The id of its compiled code."""
    figures: dict[str, float] = msgspec.field(default_factory=dict)
    """Metric → its value for the launch; times in nanoseconds."""
    by_address: dict[str, dict[int, int]] = msgspec.field(default_factory=dict)
    """Metric → address of an instruction → its value."""


class NcuReport(msgspec.Struct):
    launches: list[ProfiledLaunch] = msgspec.field(default_factory=list)
    codes: dict[int, bytes] = msgspec.field(default_factory=dict)
    """Id of compiled code → its ELF file."""
    problem: str = ""
    """Why the rest could not be read; empty if everything was."""


def read_report(data: bytes, kernels: frozenset[str] | None = None) -> NcuReport:
    """Reads the launches of some kernels, or of all, with their metrics."""
    report = NcuReport()
    if not data.startswith(MAGIC):
        report.problem = "It does not begin as a report of Nsight Compute does."
        return report
    names: list[str] = []
    rest = memoryview(data)[len(MAGIC) :]
    try:
        _, rest = _part(rest)
        while rest:
            header, rest = _part(rest)
            counts = {_SOURCES: 0, _RESULTS: 0, _PAYLOAD: 0}
            for number, value in _fields(header):
                if number in counts and isinstance(value, int):
                    counts[number] = value
                elif number == _STRINGS:
                    names += [_text(field) for at, field in _fields(value) if at == _STRING]
            payload, rest = rest[: counts[_PAYLOAD]], rest[counts[_PAYLOAD] :]
            for number in range(counts[_SOURCES] + counts[_RESULTS]):
                if not payload:
                    break
                part, payload = _part(payload)
                if number < counts[_SOURCES]:
                    found = dict(_fields(part))
                    source, code = found.get(_SOURCE_ID), found.get(_SOURCE_CODE)
                    if isinstance(source, int) and isinstance(code, memoryview):
                        report.codes[source] = bytes(code)
                else:
                    _add_launch(report, part, names, kernels)
    except (struct.error, IndexError, ValueError):
        at = len(data) - len(rest)
        report.problem = f"It is damaged in the part before byte {at:,}; the rest was not read."
    return report


def _part(data: memoryview) -> tuple[memoryview, memoryview]:
    """Returns the part that begins here, and the rest."""
    end = _LENGTH.size + _LENGTH.unpack_from(data)[0]
    if end > len(data):
        raise ValueError("cut")
    return data[_LENGTH.size : end], data[end:]


def _fields(message: Value) -> Iterator[tuple[int, Value]]:
    """Yields number and value of each field of a message."""
    if not isinstance(message, memoryview):
        raise ValueError("a number in place of a message")  # damage
    at = 0
    while at < len(message):
        key, at = _number(message, at)
        value: Value
        kind = key & 7
        if kind == 0:
            value, at = _number(message, at)
        elif kind == 2:
            length, at = _number(message, at)
            value = message[at : at + length]
            at += length
        elif kind == 1:
            value, at = _DOUBLE.unpack_from(message, at)[0], at + _DOUBLE.size
        elif kind == 5:
            value, at = _FLOAT.unpack_from(message, at)[0], at + _FLOAT.size
        else:
            raise ValueError("no such kind of field")
        if at > len(message):
            raise ValueError("cut")
        yield key >> 3, value


def _number(message: memoryview, at: int) -> tuple[int, int]:
    result = 0
    for count in range(_LONGEST_NUMBER):
        byte = message[at + count]
        result |= (byte & 127) << (7 * count)
        if byte < 128:
            return result, at + count + 1
    raise ValueError("a number that never ends")


def _text(value: Value) -> str:
    return bytes(value).decode("utf-8", "replace") if isinstance(value, memoryview) else ""


def _add_launch(
    report: NcuReport, part: memoryview, names: list[str], kernels: frozenset[str] | None
) -> None:
    launch, metrics = ProfiledLaunch(""), list[memoryview]()
    for number, value in _fields(part):
        if number == _FUNCTION:
            launch.kernel = _text(value)
        elif number == _SOURCE:
            launch.code = int(_value(value))
        elif number == _METRIC and isinstance(value, memoryview):
            metrics.append(value)
    if kernels is None or launch.kernel in kernels:
        for metric in metrics:
            _add_metric(launch, metric, names)
        report.launches.append(launch)


def _add_metric(launch: ProfiledLaunch, metric: memoryview, names: list[str]) -> None:
    name = ""
    values: dict[int, int] = {}
    for number, value in _fields(metric):
        if number == _METRIC_NAME and isinstance(value, int):
            name = names[value]
            sampled = name.startswith(STALLED) and not name.endswith(NOT_ISSUED)
            if not sampled and name not in (EXECUTED, SECTORS, *FIGURES):
                return
        elif number == _METRIC_VALUE:
            figure = _value(value)
            if is_within(name, figure):
                launch.figures[name] = figure
        elif number == _METRIC_OF_INSTANCE:
            instance = dict(_fields(value))
            address = int(_value(instance.get(_INSTANCE, 0)))
            figure = _value(instance.get(_INSTANCE_VALUE, 0))
            if is_within(name, figure):
                values[address] = int(figure)
    if values:
        launch.by_address[name] = values


def _value(message: Value) -> float:
    """Returns the number in a message with a single field, which gives its type. Texts and
    infinities are 0."""
    found = [value for _, value in _fields(message)] if isinstance(message, memoryview) else []
    number = found[-1] if found else 0
    return number if isinstance(number, int | float) and math.isfinite(number) else 0
