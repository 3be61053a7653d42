"""Profiler traces (Chrome trace JSON as Kineto writes it): kernels, operators, who launched what.

Times are fractional microseconds and stay so. A kernel is an event of the device; the `cpu_op` of
the same name that Inductor records around a Triton launch is an operator and counts as such.
"""

from __future__ import annotations

import math
import re
from array import array
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from inductorscope.formats.chrome_events import EventReader, Repair, TraceEvent
from inductorscope.formats.kineto_regions import Region, RegionTimes, find_regions
from inductorscope.formats.unpacked import Readable, open_plain

__all__ = ["ChromeTrace", "CpuKernelTime", "KernelTime", "OpTime", "Region", "read_chrome_trace"]

GIB = 1024**3
MAX_BYTES = 16 * GIB
"""How much of a trace is read unless another bound is given, counted unpacked."""
DEVICE_KINDS = {
    "kernel": "kernel", "gpu_memcpy": "memcpy", "memcpy": "memcpy",
    "gpu_memset": "memset", "memset": "memset",
}  # fmt: skip
RUNTIME = {"cuda_runtime", "cuda_driver", "runtime", "driver", "xpu_runtime"}
OPERATORS = {"cpu_op", "operator"}
DEVICES_SIZE = 256 * 1024
LONGEST_US = 7 * 24 * 3600 * 1e6
"""A week: a longer event is a broken time stamp."""

# ProfilerStep#550
_STEP = re.compile(r"^ProfilerStep#(\d+)$")
# ## Call CompiledFxGraph fal4xpiah2v6blbfmwwonu52dvevbsmlh743q5tkclrt4gcqpzea ##
_GRAPH_CALL = re.compile(r"^## Call CompiledFxGraph (.*) ##$")
# Torch-Compiled Region: 0/0
_COMPILED = re.compile(r"^Torch-Compiled Region: (\S+)$")
# graph_0_cpp_fused_gelu_view_2
_CPU_KERNEL = re.compile(r"^graph_(\d+)_(cpp_.+)$")
_DEVICES = re.compile(rb'"deviceProperties"\s*:\s*\[([^\]]*)')
_NAME = re.compile(rb'"name"\s*:\s*"([^"]{0,200})"')


@dataclass(slots=True)
class KernelTime:
    """All runs of one device kernel that one launch site's file, operator and graph call share."""

    name: str
    kind: str
    """'kernel', 'memcpy' or 'memset'."""
    kernel_file: str | None
    """Source file of a Triton kernel, as its launch says."""
    kernel_hash: str | None
    op: str | None
    """The operator that launched it."""
    region: int | None
    """Index into `ChromeTrace.regions`: the graph call that it was launched from."""
    join: str | None
    """How the launch was found: 'external id', 'correlation', 'name', or None if it was not."""
    calls: int = 0
    total_us: float = 0.0


@dataclass(slots=True)
class OpTime:
    """All runs of one operator on the CPU; its children's time is included."""

    name: str
    calls: int = 0
    total_us: float = 0.0


@dataclass(slots=True)
class CpuKernelTime:
    """All runs of one generated C++ kernel within one graph call's region."""

    name: str
    """As the output code calls it, `cpp_fused_gelu_view_2`."""
    graph_id: int
    region: int | None
    calls: int = 0
    total_us: float = 0.0


@dataclass(slots=True)
class ChromeTrace:
    """What a trace says."""

    kernels: list[KernelTime] = field(default_factory=list)
    ops: list[OpTime] = field(default_factory=list)
    cpu_kernels: list[CpuKernelTime] = field(default_factory=list)
    regions: list[Region] = field(default_factory=list)
    """Calls of compiled graphs, those of the same graph together."""
    steps: int | None = None
    """Profiler steps, None when the trace has none."""
    devices: list[str] = field(default_factory=list)
    """Devices of the machine. Nothing need have run on them."""
    events: int = 0
    repairs: list[Repair] = field(default_factory=list)
    """What was wrong with the file, and how often."""

    @property
    def device_name(self) -> str | None:
        """The device that the kernels ran on."""
        return self.devices[0] if self.kernels and self.devices else None

    @property
    def device_us(self) -> float:
        return sum(kernel.total_us for kernel in self.kernels)

    def joined_us(self) -> dict[str, float]:
        """Device time by how its launch was found; 'none' for what was not."""
        found: dict[str, float] = {}
        for kernel in self.kernels:
            how = kernel.join or "none"
            found[how] = found.get(how, 0.0) + kernel.total_us
        return found


def read_chrome_trace(path: Path, max_bytes: int = MAX_BYTES) -> ChromeTrace:
    """Reads a trace, plain or compressed with gzip or zstd, whatever its state; what was mended is
    in `.repairs`."""
    with path.open("rb") as file:
        return read_chrome_stream(open_plain(file), max_bytes)


def read_chrome_stream(stream: Readable, max_bytes: int = MAX_BYTES) -> ChromeTrace:
    """Reads a trace from a stream of plain JSON."""
    reader = EventReader(stream, max_bytes)
    columns = _Columns(reader)
    for batch in reader.batches():
        columns.add(batch)
    trace = columns.finish()
    trace.devices = _device_names(reader.header) or _device_names(reader.trailer)
    trace.repairs = list(reader.repairs.values())
    return trace


def _device_names(around: bytes) -> list[str]:
    start = max(0, around.find(b'"deviceProperties"'))
    found = _DEVICES.match(around[start : start + DEVICES_SIZE])
    names = _NAME.findall(found.group(1)) if found else []
    return [name.decode("utf-8", "replace") for name in names if name]


class _Launch(msgspec.Struct, frozen=True):
    name: str
    file: str | None
    hash: str | None


class _Columns:
    """Events as parallel columns, some 40 bytes each: a trace can have millions."""

    def __init__(self, reader: EventReader) -> None:
        self.reader = reader
        self.trace = ChromeTrace()
        self.names: dict[str, int] = {}
        self.threads: dict[tuple[object, object], int] = {}
        self.kernel_rows: list[tuple[int, str, int, int]] = []
        self.kernel_us = array("d")
        self.op_name, self.op_thread = array("q"), array("q")
        self.op_id, self.op_ts, self.op_us = array("q"), array("d"), array("d")
        self.call_id, self.call_correlation = array("q"), array("q")
        self.launches: dict[int, _Launch] = {}
        self.spans: list[tuple[int, float, float, str]] = []
        self.compiled: list[tuple[int, float, float, str]] = []
        self.steps: set[str] = set()

    def add(self, batch: list[TraceEvent]) -> None:
        self.trace.events += len(batch)
        for event in batch:
            if event.ph == "X" and event.cat is not None and event.name is not None:
                self._add(event, event.cat.lower(), event.name)

    def _add(self, event: TraceEvent, category: str, name: str) -> None:
        if category in RUNTIME:
            self._runtime_call(event)
            return
        kind = DEVICE_KINDS.get(category)
        if kind is None and category not in OPERATORS and category != "user_annotation":
            return
        duration = event.dur if event.dur is not None else 0.0
        if not 0 <= duration < LONGEST_US:  # also when it is no number
            self.reader.repair("an event with an impossible duration was left out", name)
            return
        if kind is not None:
            self._kernel(event, kind, name, duration)
        else:
            self._operator(event, category, name, duration)

    def _runtime_call(self, event: TraceEvent) -> None:
        external, correlation = _external_id(event), _integer(event, "correlation")
        if external >= 0 and correlation >= 0:
            self.call_id.append(external)
            self.call_correlation.append(correlation)

    def _kernel(self, event: TraceEvent, kind: str, name: str, duration: float) -> None:
        row = (self._name(name), kind, _external_id(event), _integer(event, "correlation"))
        self.kernel_rows.append(row)
        self.kernel_us.append(duration)

    def _operator(self, event: TraceEvent, category: str, name: str, duration: float) -> None:
        thread = self.threads.setdefault((event.pid, event.tid), len(self.threads))
        start = event.ts if event.ts is not None and math.isfinite(event.ts) else 0.0
        if _STEP.match(name):
            self.steps.add(name)
            return
        graph = _GRAPH_CALL.match(name)
        if graph:
            self.spans.append((thread, start, duration, graph.group(1)))
            return
        compiled = _COMPILED.match(name)
        if compiled:
            self.compiled.append((thread, start, duration, compiled.group(1)))
        if category not in OPERATORS:
            return
        external = _external_id(event)
        self.op_name.append(self._name(name))
        self.op_thread.append(thread)
        self.op_id.append(external)
        self.op_ts.append(start)
        self.op_us.append(duration)
        arguments = event.args
        if arguments and (arguments.kernel_file or arguments.kernel_backend == "triton"):
            self.launches[external if external >= 0 else -1 - len(self.launches)] = _Launch(
                name, _text(arguments.kernel_file), _text(arguments.kernel_hash)
            )

    def _name(self, name: str) -> int:
        return self.names.setdefault(name, len(self.names))

    def finish(self) -> ChromeTrace:
        trace = self.trace
        names = list(self.names)
        times = RegionTimes(
            names, self.op_name, self.op_thread, self.op_ts, self.op_us,
            is_generated=[bool(_CPU_KERNEL.match(name)) for name in names],
        )  # fmt: skip
        by_id = self._ops_by_id()
        files = self._launches_by_op(by_id)
        trace.regions, region_of_op = find_regions(self.spans, self.compiled, times, files)
        trace.kernels = self._kernels(names, by_id, region_of_op)
        trace.ops, trace.cpu_kernels = self._operators(names, region_of_op)
        trace.steps = len(self.steps) or None
        return trace

    def _ops_by_id(self) -> dict[int, int]:
        """External id → index of its operator, of those ids that a kernel or a launch has."""
        wanted = {row[2] for row in self.kernel_rows} | self.launches.keys()
        wanted.update(self._ids_by_correlation().values())
        return {
            external: index
            for index, external in enumerate(self.op_id)
            if external >= 0 and external in wanted
        }

    def _launches_by_op(self, by_id: dict[int, int]) -> dict[int, str]:
        return {
            by_id[external]: launch.file or launch.name
            for external, launch in self.launches.items()
            if external in by_id
        }

    def _ids_by_correlation(self) -> dict[int, int]:
        """Of kernels that bear no external id themselves."""
        wanted = {row[3] for row in self.kernel_rows if row[2] < 0 and row[3] >= 0}
        if not wanted:
            return {}
        pairs = zip(self.call_correlation, self.call_id, strict=True)
        return {correlation: external for correlation, external in pairs if correlation in wanted}

    def _kernels(
        self, names: list[str], by_id: dict[int, int], region_of_op: dict[int, int]
    ) -> list[KernelTime]:
        by_correlation = self._ids_by_correlation()
        by_name: dict[str, _Launch | None] = {}
        for launch in self.launches.values():
            known = by_name.setdefault(launch.name, launch)
            if known is not None and known.file != launch.file:
                by_name[launch.name] = None  # two files of that name: it does not tell
        found: dict[tuple[object, ...], KernelTime] = {}
        for (name_id, kind, own_id, correlation), duration in zip(
            self.kernel_rows, self.kernel_us, strict=True
        ):
            name = names[name_id]
            external = own_id if own_id >= 0 else by_correlation.get(correlation, -1)
            op = by_id.get(external)
            matched = self.launches.get(external) if external >= 0 else None
            join = None if op is None else "external id" if own_id >= 0 else "correlation"
            if matched is None and (named := by_name.get(name)) is not None:
                matched, join = named, "name"
            region = None if op is None else region_of_op.get(op)
            op_name = None if op is None else names[self.op_name[op]]
            key = (name_id, kind, matched, op_name, region, join)
            time = found.get(key)
            if time is None:
                time = found[key] = KernelTime(
                    name, kind, matched.file if matched else None,
                    matched.hash if matched else None, op_name, region, join,
                )  # fmt: skip
            time.calls += 1
            time.total_us += duration
        return sorted(found.values(), key=lambda time: -time.total_us)

    def _operators(
        self, names: list[str], region_of_op: dict[int, int]
    ) -> tuple[list[OpTime], list[CpuKernelTime]]:
        ops: dict[int, OpTime] = {}
        kernels: dict[tuple[int, int | None], CpuKernelTime] = {}
        generated = {i: found for i, name in enumerate(names) if (found := _CPU_KERNEL.match(name))}
        for index, (name_id, duration) in enumerate(zip(self.op_name, self.op_us, strict=True)):
            op = ops.setdefault(name_id, OpTime(names[name_id]))
            op.calls += 1
            op.total_us += duration
            match = generated.get(name_id)
            if match:
                region = region_of_op.get(index)
                kernel = kernels.setdefault(
                    (name_id, region),
                    CpuKernelTime(match.group(2), int(match.group(1)), region),
                )
                kernel.calls += 1
                kernel.total_us += duration
        by_time = sorted(ops.values(), key=lambda time: -time.total_us)
        return by_time, sorted(kernels.values(), key=lambda time: -time.total_us)


def _external_id(event: TraceEvent) -> int:
    if event.args is None:
        return -1
    value = event.args.external_id
    if value is None:
        value = event.args.old_external_id
    return _as_integer(value)


def _integer(event: TraceEvent, name: str) -> int:
    return -1 if event.args is None else _as_integer(getattr(event.args, name))


def _as_integer(value: object) -> int:
    """An id as a number that fits a column; -1 for none."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        value = int(value)
    if isinstance(value, int) and 0 <= value < 2**63:
        return value
    return -1


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
