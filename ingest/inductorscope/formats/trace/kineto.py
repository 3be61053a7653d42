"""Profiler traces (Chrome trace JSON as Kineto writes it): kernels, operators and launches.

Times are fractional microseconds. A kernel is an event of the device; the `cpu_op` of
the same name that Inductor records around a Triton launch is an operator and counts as such.
"""

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from inductorscope.formats.sizes import GIB
from inductorscope.formats.trace.column_reader import ColumnReader
from inductorscope.formats.trace.event_columns import (
    DEVICE_KINDS,
    NOWHERE,
    Integers,
    LaunchEvent,
    Numbers,
    TraceColumns,
)
from inductorscope.formats.trace.events import EventReader, Repair
from inductorscope.formats.trace.launches import Launched, find_launches, values_at
from inductorscope.formats.trace.regions import Region, RegionTimes, find_regions
from inductorscope.formats.trace.shapes import Device, UsualShape
from inductorscope.formats.unpacking import Readable, open_plain

__all__ = ["ChromeTrace", "CpuKernelTime", "KernelTime", "OpTime", "Region", "read_chrome_trace"]

MAX_BYTES = 16 * GIB
"""Default limit on the unpacked bytes read of a trace."""
DEVICES_SIZE = 256 * 1024
LARGEST_KEY = 2**62

# graph_0_cpp_fused_gelu_view_2
CPU_KERNEL = re.compile(r"^graph_(\d+)_(cpp_.+)$")
_DEVICES = re.compile(rb'"deviceProperties"\s*:\s*\[([^\]]*)')
_NAME = re.compile(rb'"name"\s*:\s*"([^"]{0,200})"')

# "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 8, …}
_RANK = re.compile(rb'"distributedInfo"\s{0,9}:[^\]]{0,400}?"rank"\s{0,9}:\s{0,9}(\d{1,7})\b')
_HOST = re.compile(rb'"host_name"\s{0,9}:\s{0,9}"([^"]{1,200})"')
# "cuda_driver_version": 13000
_DRIVER = re.compile(rb'"cuda_driver_version"\s{0,9}:\s{0,9}(\d{4,6})\b')
_BASE = re.compile(rb'"baseTimeNanoseconds"\s{0,9}:\s{0,9}(\d{1,19})\b')


class KernelTime(msgspec.Struct):
    """All runs of one device kernel with the same file, operator and graph call."""

    name: str
    kind: str
    """'kernel', 'memcpy' or 'memset'."""
    kernel_file: str | None
    """Source file of a Triton kernel, from its launch."""
    kernel_hash: str | None
    op: str | None
    """The operator that launched it."""
    region: int | None
    """Index into `ChromeTrace.regions`: the graph call that it was launched from."""
    join: str | None
    """How the launch was identified: 'external id', 'correlation', 'name', or None."""
    calls: int = 0
    total_us: float = 0.0
    min_us: float = 0.0
    max_us: float = 0.0
    triton: bool = False
    """Whether its launch marks it as a Triton kernel."""
    replayed: bool = False
    """Whether it ran as part of a recorded graph (CUDA or HIP graphs)."""
    compiled: bool = False
    """Whether compiled code launched it."""
    shape: UsualShape | None = None


class OpTime(msgspec.Struct):
    """All runs of one operator on the CPU; its children's time is included."""

    name: str
    calls: int = 0
    total_us: float = 0.0


class CpuKernelTime(msgspec.Struct):
    """All runs of one generated C++ kernel within one graph call's region."""

    name: str
    """The name in the output code, `cpp_fused_gelu_view_2`."""
    graph_id: int
    region: int | None
    calls: int = 0
    total_us: float = 0.0


class TraceEvents(msgspec.Struct):
    """The events, and the sum and region that each belongs to."""

    columns: TraceColumns
    launched: Launched
    row: Numbers
    """For each event of the device its entry in `ChromeTrace.kernels`."""
    region_of_op: Numbers


@dataclass(slots=True)
class ChromeTrace:
    """The content of a trace."""

    kernels: list[KernelTime] = field(default_factory=list)
    ops: list[OpTime] = field(default_factory=list)
    cpu_kernels: list[CpuKernelTime] = field(default_factory=list)
    regions: list[Region] = field(default_factory=list)
    """Calls of compiled graphs, grouped by graph."""
    steps: int | None = None
    """Profiler steps, None when the trace has none."""
    devices: list[str] = field(default_factory=list)
    """Devices of the machine, including unused ones."""
    device: Device | None = None
    """The first of these, if the trace describes it."""
    driver: str | None = None
    """The CUDA version that the driver supports."""
    kind: str | None = None
    """Torch's name of the kind of device in the events: 'cuda', 'xpu', 'mtia'."""
    events: int = 0
    counted: int = 0
    """Kernels without durations: their hardware counters were read."""
    rank: int | None = None
    host: str | None = None
    base_ns: int = 0
    """The moment that times count from, in ns since 1970."""
    repairs: list[Repair] = field(default_factory=list)
    """Repairs to the file, with counts."""
    stacks: dict[str, list[str]] = field(default_factory=dict)
    """Kernel → the lines that torch says it computes."""
    detail: TraceEvents | None = field(default=None, repr=False, compare=False)
    """The individual events; dropped after the analysis."""

    @property
    def device_name(self) -> str | None:
        """The device that the kernels ran on."""
        return self.devices[0] if (self.kernels or self.counted) and self.devices else None

    @property
    def device_kind(self) -> str | None:
        """The kind of device that work ran on; None if there is none."""
        if self.kernels or self.counted:
            return self.kind or "cuda"
        return "cpu" if self.ops else None

    def joined_us(self) -> dict[str, float]:
        """Device time by the way its launch was identified; 'none' if it was not."""
        sums: dict[str, float] = {}
        for kernel in self.kernels:
            how = kernel.join or "none"
            sums[how] = sums.get(how, 0.0) + kernel.total_us
        return sums


def read_chrome_trace(
    path: Path,
    max_bytes: int = MAX_BYTES,
    folder: Path | None = None,
) -> ChromeTrace:
    """Reads a trace, plain or compressed with gzip or zstd; never fails on a damaged one.

    `.repairs` lists the repairs. `folder`: for temporary files, if the events do not fit into
    memory.
    """
    with path.open("rb") as file:
        return read_chrome_stream(open_plain(file), max_bytes, folder)


def read_chrome_stream(
    stream: Readable,
    max_bytes: int = MAX_BYTES,
    folder: Path | None = None,
) -> ChromeTrace:
    """Reads a trace from a stream of plain JSON."""
    reader = EventReader(stream, max_bytes)
    columns = ColumnReader(reader, folder)
    for batch in reader.batches():
        columns.add(batch)
    batch = []  # free the last batch before joining
    trace = _trace_of(columns.finish())
    trace.events, trace.counted = columns.events, columns.counted
    trace.kind = next((kind for kind in columns.kinds if kind is not None), None)
    trace.devices = _device_names(reader.header) or _device_names(reader.trailer)
    trace.device = _device(reader.header) or _device(reader.trailer)
    trace.repairs = list(reader.repairs.values())
    around = reader.header[:DEVICES_SIZE] + reader.trailer[:DEVICES_SIZE]
    if match := _RANK.search(around):
        trace.rank = int(match.group(1))
    if match := _HOST.search(around):
        trace.host = match.group(1).decode("utf-8", "replace")
    if match := _DRIVER.search(around):
        number = int(match.group(1))
        trace.driver = f"{number // 1000}.{number % 1000 // 10}"
    if match := _BASE.search(around):
        trace.base_ns = int(match.group(1))
    return trace


def _properties(around: bytes) -> bytes:
    """Returns the text in the list of devices."""
    start = max(0, around.find(b'"deviceProperties"'))
    match = _DEVICES.match(around[start : start + DEVICES_SIZE])
    return match.group(1) if match else b""


def _device(around: bytes) -> Device | None:
    try:
        return msgspec.json.decode(b"[" + _properties(around) + b"]", type=list[Device])[0]
    except (msgspec.MsgspecError, UnicodeError, IndexError):
        return None


def _device_names(around: bytes) -> list[str]:
    names = _NAME.findall(_properties(around))
    return [name.decode("utf-8", "replace") for name in names if name]


def _trace_of(columns: TraceColumns) -> ChromeTrace:
    names, ops = columns.names, columns.ops
    tokens, token_of = _tokens(columns)
    times = RegionTimes(names, ops.name, ops.lane, ops.ts, ops.us, token=tokens, token_of=token_of)
    regions, region_of_op, region_of_span = find_regions(
        columns.graph_calls, columns.compiled, times, columns.compiled_functions
    )
    del times, token_of
    launched = find_launches(columns, region_of_op, region_of_span)
    kernels, row = _kernels(columns, launched)
    trace = ChromeTrace(kernels=kernels, regions=regions)
    trace.stacks = columns.stacks
    trace.ops, trace.cpu_kernels = _operators(columns, region_of_op)
    trace.steps = len({step.text for step in columns.steps}) or None
    trace.detail = TraceEvents(columns, launched, row, region_of_op)
    return trace


def _tokens(columns: TraceColumns) -> tuple[list[str], Numbers]:
    """Tokens that distinguish graphs, and for each operator its token."""
    tokens: dict[str, int] = {}
    of_name = np.full(len(columns.names) + 1, NOWHERE, np.int32)
    for number, name in enumerate(columns.names):
        if CPU_KERNEL.match(name):
            of_name[number] = tokens.setdefault(name, len(tokens))
    of_launch = np.array(
        [tokens.setdefault(launch.file or launch.name, len(tokens)) for launch in columns.launches]
        + [NOWHERE],
        np.int32,
    )
    of_op = of_launch[columns.ops.kind]  # NOWHERE is the last
    of_op = np.where(of_op == NOWHERE, of_name[columns.ops.name], of_op)
    return list(tokens), of_op


def grouped(*columns: npt.NDArray[Any]) -> tuple[Integers, Numbers]:
    """Groups rows that are equal in all integer columns: the first row of each group, and each
    row's group."""
    key = np.zeros(len(columns[0]), np.int64)
    keys = 1
    for column in columns:
        low = int(column.min(initial=0))
        size = int(column.max(initial=0)) - low + 1
        if keys * size > LARGEST_KEY:
            _, dense = np.unique(key, return_inverse=True)
            key, keys = dense.astype(np.int64), len(key)
        key *= size
        key += column
        key -= low
        keys *= size
    unique, first = np.unique(key, return_index=True)
    return first.astype(np.int64), np.searchsorted(unique, key).astype(np.int32)


def _kernels(columns: TraceColumns, launched: Launched) -> tuple[list[KernelTime], Numbers]:
    """Sums of device work, the longest first, and the index of each event's sum."""
    device = columns.device
    if not len(device):
        return [], np.zeros(0, np.int32)
    op_name = values_at(columns.ops.name, launched.op)
    first, group = grouped(
        device.name, device.kind, launched.launch, op_name, launched.region,
        launched.join, launched.replayed, launched.compiled,
    )  # fmt: skip
    op_name = op_name[first]
    calls = np.bincount(group, minlength=len(first))
    us = device.us
    total = np.bincount(group, weights=us, minlength=len(first))
    least = np.full(len(first), np.inf)
    most = np.zeros(len(first))
    np.minimum.at(least, group, us)
    np.maximum.at(most, group, us)
    del us
    usual = _usual_shapes(columns, group)
    name, kind = device.name[first], device.kind[first]
    order = np.lexsort((first, -total))
    rank = np.empty(len(first), np.int32)
    rank[order] = np.arange(len(first), dtype=np.int32)
    kernels = []
    for place in order.tolist():
        event = first[place]
        known = launched.launch[event] != NOWHERE
        launch = columns.launches[launched.launch[event]] if known else LaunchEvent("", None, None)
        op, region = op_name[place], launched.region[event]
        kernels.append(
            KernelTime(
                name=columns.names[name[place]],
                kind=DEVICE_KINDS[kind[place]],
                kernel_file=launch.file,
                kernel_hash=launch.hash,
                op=None if op == NOWHERE else columns.names[op],
                region=None if region == NOWHERE else int(region),
                join=launched.joins[launched.join[event]],
                calls=int(calls[place]),
                total_us=float(total[place]),
                min_us=float(least[place]),
                max_us=float(most[place]),
                triton=known,
                replayed=bool(launched.replayed[event]),
                compiled=bool(launched.compiled[event]),
                shape=usual.get(place),
            )
        )
    return kernels, rank[group]


def _usual_shapes(columns: TraceColumns, group: Numbers) -> dict[int, UsualShape]:
    """Returns the shape of most launches of each group of kernels; of equals, the first seen."""
    shape = columns.device.shape
    known = np.flatnonzero(shape != NOWHERE)
    first, pair = grouped(group[known], shape[known])
    counts: dict[int, Counter[int]] = defaultdict(Counter)
    for at, launches in zip(known[first].tolist(), np.bincount(pair).tolist(), strict=True):
        counts[int(group[at])][int(shape[at])] = launches
    usual = {of_group: own.most_common(1)[0] for of_group, own in counts.items()}
    return {
        of_group: UsualShape(columns.shapes[number], launches, counts[of_group].total() - launches)
        for of_group, (number, launches) in usual.items()
    }


def _operators(
    columns: TraceColumns, region_of_op: Numbers
) -> tuple[list[OpTime], list[CpuKernelTime]]:
    ops = columns.ops
    if not len(ops):
        return [], []
    count = len(columns.names)
    name, us = ops.name, ops.us
    calls = np.bincount(name, minlength=count)
    total = np.bincount(name, weights=us, minlength=count)
    times = [
        OpTime(columns.names[number], int(calls[number]), float(total[number]))
        for number in np.flatnonzero(calls).tolist()
    ]
    generated = [CPU_KERNEL.match(name) for name in columns.names]
    own = np.flatnonzero(np.array([match is not None for match in generated])[name])
    name, us = name[own], us[own]
    kernels: list[CpuKernelTime] = []
    if len(own):
        first, group = grouped(name, region_of_op[own])
        sums = np.bincount(group, weights=us)
        for which, (place, runs) in enumerate(zip(first, np.bincount(group), strict=True)):
            match = generated[name[place]]
            assert match is not None
            region = int(region_of_op[own[place]])
            kernels.append(
                CpuKernelTime(
                    match.group(2), int(match.group(1)), None if region == NOWHERE else region,
                    int(runs), float(sums[which]),
                )
            )  # fmt: skip
    times.sort(key=lambda time: -time.total_us)
    kernels.sort(key=lambda time: -time.total_us)
    return times, kernels
