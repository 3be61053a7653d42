"""Output of a compiled module's benchmark: `python output_code.py -p` or `-k`, a kernel's file run
alone, and the file that `TORCHINDUCTOR_PROFILE=1` writes.

Each measurement has its own form of line. All other text, such as warnings, is skipped.
"""

from __future__ import annotations

import re
from collections import Counter

import msgspec

from inductorscope.formats.border import within
from inductorscope.formats.printed.bandwidth_lines import (
    BandwidthReport,
    KernelBandwidth,
    kernel_heading,
    kernel_of,
    summary_of,
)
from inductorscope.formats.printed.key_averages import KeyAverages, table_at
from inductorscope.formats.text import Problem

__all__ = [
    "BandwidthReport", "BenchmarkLog", "CategoryRow", "CategoryTable", "KernelBandwidth",
    "ModuleProfile", "TabulateLine", "parse_benchmark_log",
]  # fmt: skip

MEGABYTE = 1e6

_ANSI = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")
# 0.001023
_SECONDS = re.compile(r"^(\d{1,9}\.\d{6})$")
# Peak GPU memory usage 200.960 MB
_PEAK = re.compile(r"^Peak GPU memory usage (\d{1,15}(?:\.\d{1,9})?) MB$")
# Profiling result for a compiled module of benchmark None:
_PROFILE = re.compile(r"^Profiling result for a compiled module of benchmark (.{1,1000}):$")
# Chrome trace for the profile is written to /tmp/compiled_module_profile.json
_TRACE = re.compile(r"^Chrome trace for the profile is written to (.{1,4000})$")
#   == triton_pointwise category kernels ==
_CATEGORY = re.compile(r"^== (\w{1,100}) category kernels ==$")
# Kernel      Self CUDA TIME (ms)    Count  Percent
_DEVICE = re.compile(r"Self ([A-Za-z]\w{0,40}) TIME \(ms\)")
# Percent of time when CUDA is busy: 26.54%, in older versions always `GPU`
_BUSY = re.compile(r"Percent of time when (\w{1,40}) is busy: (\d{1,9}(?:\.\d{1,9})?)%")
# Total wall time 1.023 ms
_WALL = re.compile(r"^Total wall time (\d{1,15}(?:\.\d{1,9})?) ms$")
# SUMMARY (/tmp/torchinductor_user/cx/ccx….py)
_SUMMARY = re.compile(r"SUMMARY \(([^()]{1,4000})\)$")
_TABULATE = "Output for tabulate: "
_TABULATED = ("triton_pointwise", "triton_reduction", "triton_persistent_reduction",
              "triton_unknown", "unknown")  # fmt: skip
_NUMBER = re.compile(r"^\d{1,18}(?:\.\d{1,18})?(?:e[+-]?\d{1,2})?$")


class CategoryRow(msgspec.Struct):
    """One kernel of a category, per call of the module."""

    name: str
    """The profiler's name, cut after 120 characters."""
    self_ms: float
    count: float
    """Launches; the mean over all runs, so not always whole."""
    percent: float
    """Percent of the wall time without the profiler."""
    line: int


class CategoryTable(msgspec.Struct):
    """The kernels of one category, such as `triton_pointwise`."""

    name: str
    line: int
    device: str | None = None
    """Such as `cuda`."""
    rows: list[CategoryRow] = msgspec.field(default_factory=list)
    total_ms: float | None = None
    """As printed; None if the table is cut short."""
    total_percent: float | None = None


class TabulateLine(msgspec.Struct):
    """The line for scripts that sums up a profile, in percent of the wall time."""

    benchmark: str
    percents: dict[str, float]
    """Percents by category. Older versions have no `triton_unknown`."""
    busy_percent: float
    wall_ms: float
    line: int


class ModuleProfile(msgspec.Struct):
    """What one run of a module printed, with or without `-p`."""

    line: int
    wall_ms: float | None = None
    """Time of one call, without the profiler."""
    profiled_wall_ms: float | None = None
    peak_bytes: float | None = None
    """Peak of the device's memory."""
    benchmark: str | None = None
    trace_path: str | None = None
    device: str | None = None
    """Such as `cuda`, or `gpu` in versions that do not name the device."""
    busy_percent: float | None = None
    """Can exceed 100, because kernels are timed with the profiler on and the wall time with it
    off."""
    categories: list[CategoryTable] = msgspec.field(default_factory=list)
    tabulate: TabulateLine | None = None
    key_averages: KeyAverages | None = None


class BenchmarkLog(msgspec.Struct):
    """The content of a log, in order."""

    profiles: list[ModuleProfile] = msgspec.field(default_factory=list)
    kernels: list[KernelBandwidth] = msgspec.field(default_factory=list)
    """Kernels from `-k`, `-c` and kernels that ran alone."""
    bandwidth: list[BandwidthReport] = msgspec.field(default_factory=list)
    """Reports from `TORCHINDUCTOR_PROFILE=1`, one for each graph."""
    tables: list[KeyAverages] = msgspec.field(default_factory=list)
    """All tables of `key_averages`, including those of profiles."""
    problems: list[Problem] = msgspec.field(default_factory=list)


def parse_benchmark_log(text: str) -> BenchmarkLog:
    log = _Reader(text).read()
    left_out: Counter[str] = Counter()
    within([log], left_out)
    log.problems += [Problem(None, reason) for reason in left_out.elements()]
    return log


class _Reader:
    def __init__(self, text: str) -> None:
        self.lines = [_plain(line) for line in text.split("\n")]
        self.coloured = {
            number for number, line in enumerate(text.split("\n"), 1) if line.startswith("\x1b[3")
        }
        self.log = BenchmarkLog()
        self.heading: str | None = None
        """With `-c`, the kernel that the following measurements of configurations belong to."""

    def read(self) -> BenchmarkLog:
        number = 1
        while number <= len(self.lines):
            number = self._read_at(number)
        log = self.log
        if not (log.profiles or log.kernels or log.bandwidth or log.tables):
            log.problems.append(Problem(None, "no report of a benchmark was found"))
        return log

    def _read_at(self, number: int) -> int:
        """Reads the part that starts on a line; returns the line to continue at."""
        line = self.lines[number - 1]
        if not line:
            self.heading = None
            return number + 1
        table = table_at(self.lines, number - 1)
        if table is not None:
            self._table(table)
            return number + max(1, table.lines)
        category = _CATEGORY.match(line.strip())
        if category:
            return self._category(CategoryTable(category.group(1), number))
        if "TRITON KERNELS BANDWIDTH INFO (" in line:
            return self._bandwidth(number)
        summary = _SUMMARY.search(line)
        if summary:  # in printed output, where the kernels come before it, among other lines
            self.log.bandwidth.append(BandwidthReport(summary.group(1), number))
            return self._summary(self.log.bandwidth[-1], number)
        kernel = kernel_of(line, number, self.heading, slow=number in self.coloured)
        if kernel is not None:
            self.log.kernels.append(kernel)
            return number + 1
        if "GB/s" in line and "\t" in line:
            self.log.problems.append(Problem(number, "a kernel's measurements could not be read"))
        self.heading = kernel_heading(line)  # no kernel while other lines come
        self._scalar(line.strip(), number)
        return number + 1

    def _profile(self, number: int, *missing: str) -> ModuleProfile:
        """Returns the profile that a line belongs to: a new one if these fields are already set."""
        profiles = self.log.profiles
        if not profiles or any(getattr(profiles[-1], name) is not None for name in missing):
            profiles.append(ModuleProfile(number))
        return profiles[-1]

    def _scalar(self, line: str, number: int) -> None:
        if match := _SECONDS.match(line):
            self._seconds(float(match.group(1)) * 1e3, number)
        elif match := _PEAK.match(line):
            profile = self._profile(number, "tabulate", "peak_bytes")
            profile.peak_bytes = float(match.group(1)) * MEGABYTE
        elif match := _PROFILE.match(line):
            name = match.group(1)
            profile = self._profile(number, "tabulate", "benchmark")
            profile.benchmark = None if name == "None" else name
        elif match := _TRACE.match(line):
            self._profile(number, "tabulate", "trace_path").trace_path = match.group(1)
        elif match := _BUSY.search(line):
            profile = self._profile(number, "tabulate", "busy_percent")
            profile.device = match.group(1).lower()
            profile.busy_percent = float(match.group(2))
        elif match := _WALL.match(line):
            self._profile(number, "tabulate").wall_ms = float(match.group(1))
        elif line.startswith(_TABULATE):
            self._tabulate(line.removeprefix(_TABULATE), number)

    def _seconds(self, wall_ms: float, number: int) -> None:
        """Reads a wall time: a module prints it first without, then with the profiler."""
        profile = self._profile(number, "tabulate", "profiled_wall_ms")
        if profile.wall_ms is None:
            profile.wall_ms = wall_ms
        elif profile.peak_bytes is None:  # the module ran without profiler, and then again
            self._profile(number, "wall_ms").wall_ms = wall_ms
        else:
            profile.profiled_wall_ms = wall_ms

    def _tabulate(self, line: str, number: int) -> None:
        benchmark, *cells = line.split(", ")
        percents = [_percent(cell) for cell in cells[:-1]]
        wall = _number(cells[-1].removesuffix("ms")) if cells else None
        known = [value for value in percents if value is not None]
        names = _TABULATED if len(known) == 6 else _TABULATED[:3] + _TABULATED[4:]
        if wall is None or len(known) != len(percents) or len(known) != len(names) + 1:
            self.log.problems.append(Problem(number, "the line for tabulate has other columns"))
            return
        self._profile(number, "tabulate").tabulate = TabulateLine(
            benchmark, dict(zip(names, known, strict=False)), known[-1], wall, number
        )

    def _table(self, table: KeyAverages) -> None:
        self.log.tables.append(table)
        self.log.problems.extend(table.problems)
        profiles = self.log.profiles
        if profiles and profiles[-1].trace_path and profiles[-1].key_averages is None:
            profiles[-1].key_averages = table

    def _category(self, table: CategoryTable) -> int:
        """Reads headings, a rule, the rows, and a row of totals without a count."""
        self._profile(table.line, "tabulate").categories.append(table)
        number = table.line + 1
        if number <= len(self.lines) and (device := _DEVICE.search(self.lines[number - 1])):
            table.device = device.group(1).lower()
            number += 1
        if number <= len(self.lines) and self.lines[number - 1].lstrip().startswith("---"):
            number += 1
        while number <= len(self.lines) and self.lines[number - 1].strip():
            line = self.lines[number - 1].strip()
            if line.startswith("Total") and len(cells := line.split()) == 3:
                table.total_ms, table.total_percent = _number(cells[1]), _percent(cells[2])
                return number + 1
            if _CATEGORY.match(line):
                break
            self._category_row(table, line.rsplit(None, 3), number)
            number += 1
        self.log.problems.append(Problem(number - 1, f"the table of {table.name} is cut short"))
        return number

    def _category_row(self, table: CategoryTable, cells: list[str], number: int) -> None:
        if len(cells) == 4:
            own, count, percent = _number(cells[1]), _number(cells[2]), _percent(cells[3])
            if own is not None and count is not None and percent is not None:
                row = CategoryRow(cells[0], own, count, percent, number)
                table.rows.append(row)
                return
        self.log.problems.append(Problem(number, f"not a row of the table of {table.name}"))

    def _bandwidth(self, first: int) -> int:
        """Reads kernels, the slowest first, and a summary."""
        opened = self.lines[first - 1].index("(")
        report = BandwidthReport(self.lines[first - 1][opened + 1 :].rstrip(" )"), first)
        self.log.bandwidth.append(report)
        number = first + 1
        while number <= len(self.lines):
            line = self.lines[number - 1]
            kernel = kernel_of(line, number, None, slow=number in self.coloured)
            if kernel is None:
                break
            report.kernels.append(kernel)
            number += 1
        if number <= len(self.lines) and _SUMMARY.search(self.lines[number - 1]):
            return self._summary(report, number)
        self.log.problems.append(Problem(first, "the bandwidth report has no summary"))
        return number

    def _summary(self, report: BandwidthReport, number: int) -> int:
        summary = summary_of(self.lines[number]) if number < len(self.lines) else None
        if summary is None:
            self.log.problems.append(Problem(number, "the bandwidth report's summary is empty"))
            return number + 1
        report.total_ms, report.total_gb, report.total_gb_per_s = summary
        return number + 2


def _plain(line: str) -> str:
    if "\x1b" in line:
        line = _ANSI.sub("", line)
    return line.rstrip("\r")


def _number(text: str) -> float | None:
    return float(text) if _NUMBER.match(text) else None


def _percent(text: str) -> float | None:
    return _number(text[:-1]) if text.endswith("%") else None
