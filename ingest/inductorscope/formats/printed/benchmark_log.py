"""Output of a compiled module's benchmark: `python output_code.py -p` or `-k`, a kernel's file run
alone, and the file that `TORCHINDUCTOR_PROFILE=1` writes.

Each measurement has its own form of line. All other text, such as warnings, is skipped.
"""

import re
from collections import Counter

import msgspec

from inductorscope.formats.border import within
from inductorscope.formats.text import Problem

_NUMBER = r"\d{1,15}(?:\.\d{1,9})?"
# 0.014ms    	0.005 GB 	  345.56GB/s; a kernel's file run alone prints `0.005GB`
_MEASURE = re.compile(
    rf"(?<![\w.])({_NUMBER})ms\s{{1,20}}({_NUMBER})\s{{0,20}}GB\s{{1,20}}({_NUMBER})\s{{0,20}}GB/s"
)
#   156 regs    0 spills         0 shared mem
_RESOURCES = re.compile(r"(\d{1,9}) regs +(\d{1,9}) spills +(\d{1,12}) shared mem")
# None                 UNK ct6punxkug
_KERNEL = re.compile(r"^.{0,1000}\S +[A-Z]{3} ([a-z0-9]{10})\s*$")
# A share and a name: 12.34% 	 triton_poi_fused_add_0
_NAME = re.compile(r"^\s{0,20}(?:\d{1,9}(?:\.\d{1,9})?%\s{1,20})?([A-Za-z_]\w{0,1000})\s*$")
_ANSI = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")
# 0.001023
_SECONDS = re.compile(r"^(\d{1,9}\.\d{6})$")
# Peak GPU memory usage 200.960 MB
_PEAK = re.compile(r"^Peak GPU memory usage \d{1,15}(?:\.\d{1,9})? MB$")
#   == triton_pointwise category kernels ==
_CATEGORY = re.compile(r"^== (\w{1,100}) category kernels ==$")
# triton_poi_fused_gelu_view_10              0.010586          4  1.04%
_CATEGORY_ROW = re.compile(r"\S +[\d.e-]{1,30} +[\d.]{1,20} +[\d.]{1,20}%$")
# Percent of time when CUDA is busy: 26.54%, in older versions always `GPU`
_BUSY = re.compile(r"Percent of time when \w{1,40} is busy: (\d{1,9}(?:\.\d{1,9})?)%")
# Total wall time 1.023 ms
_WALL = re.compile(r"^Total wall time (\d{1,15}(?:\.\d{1,9})?) ms$")
_SUMMARY = "SUMMARY ("
"""SUMMARY (/tmp/torchinductor_user/cx/ccx….py); the next line sums up all kernels."""
_END = "Output for tabulate: "
"""The last line of a profile."""


class KernelBandwidth(msgspec.Struct):
    """Measurements of one kernel that ran alone."""

    line: int
    ms: float
    gigabytes: float
    """Bytes read and written, as Inductor counts them, in 10⁹ bytes."""
    gb_per_s: float
    name: str | None = None
    key: str | None = None
    """The beginning of its file's name in the code cache, 10 characters."""
    registers: int | None = None
    spills: int | None = None
    shared_bytes: int | None = None


class ModuleProfile(msgspec.Struct):
    """What one run of a module printed, with or without `-p`."""

    line: int
    wall_ms: float | None = None
    """Time of one call, without the profiler."""
    profiled: bool = False
    """Whether the time with the profiler follows, which is not read."""
    busy_percent: float | None = None
    """Can exceed 100, because kernels are timed with the profiler on and the wall time with it
    off."""
    kernels: int = 0
    """Number of rows of the tables by category."""
    ended: bool = False


class BenchmarkLog(msgspec.Struct):
    """The content of a log, in order."""

    profiles: list[ModuleProfile] = msgspec.field(default_factory=list)
    kernels: list[KernelBandwidth] = msgspec.field(default_factory=list)
    """From `-k`, `-c`, kernels that ran alone, and reports of `TORCHINDUCTOR_PROFILE=1`."""
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
        self.log = BenchmarkLog()
        self.heading: str | None = None
        """With `-c`, the kernel that the following measurements of configurations belong to."""

    def read(self) -> BenchmarkLog:
        number = 1
        while number <= len(self.lines):
            number = self._read_at(number)
        log = self.log
        if not (log.profiles or log.kernels):
            log.problems.append(Problem(None, "no report of a benchmark was found"))
        return log

    def _read_at(self, number: int) -> int:
        """Reads the part that starts on a line; returns the line to continue at."""
        line = self.lines[number - 1]
        category = _CATEGORY.match(line.strip())
        if category:
            return self._category(category.group(1), number)
        if _SUMMARY in line:
            return number + 2
        kernel = kernel_of(line, number, self.heading)
        if kernel is not None:
            self.log.kernels.append(kernel)
            return number + 1
        if "GB/s" in line and "\t" in line:
            self.log.problems.append(Problem(number, "a kernel's measurements could not be read"))
        # A line that names a kernel comes before the measurements of its configurations.
        self.heading = line if len(line) < 1100 and _KERNEL.match(line) else None
        self._scalar(line.strip(), number)
        return number + 1

    def _profile(self, number: int) -> ModuleProfile:
        """Returns the profile that a line belongs to."""
        profiles = self.log.profiles
        if not profiles or profiles[-1].ended:
            profiles.append(ModuleProfile(number))
        return profiles[-1]

    def _scalar(self, line: str, number: int) -> None:
        if match := _SECONDS.match(line):
            self._seconds(float(match.group(1)) * 1e3, number)
        elif _PEAK.match(line):
            self._profile(number).profiled = True
        elif match := _BUSY.search(line):
            if self._profile(number).busy_percent is not None:
                self.log.profiles[-1].ended = True
            self._profile(number).busy_percent = float(match.group(1))
        elif match := _WALL.match(line):
            self._profile(number).wall_ms = float(match.group(1))
        elif line.startswith(_END):
            self._profile(number).ended = True

    def _seconds(self, wall_ms: float, number: int) -> None:
        """Reads a wall time: a module prints it first without, then with the profiler."""
        profile = self._profile(number)
        if profile.wall_ms is not None and not profile.profiled:
            profile.ended = True  # the module ran without profiler, and then again
            profile = self._profile(number)
        if profile.wall_ms is None:
            profile.wall_ms = wall_ms

    def _category(self, name: str, first: int) -> int:
        """Counts the rows of a table, which ends with a row of totals without a count."""
        profile, number = self._profile(first), first + 1
        while number <= len(self.lines) and self.lines[number - 1].strip():
            line = self.lines[number - 1].strip()
            if line.startswith("Total"):
                return number + 1
            if _CATEGORY.match(line):
                break
            profile.kernels += _CATEGORY_ROW.search(line) is not None
            number += 1
        self.log.problems.append(Problem(number - 1, f"the table of {name} is cut short"))
        return number


def _plain(line: str) -> str:
    if "\x1b" in line:
        line = _ANSI.sub("", line)
    return line.rstrip("\r")


def kernel_of(line: str, number: int, heading: str | None) -> KernelBandwidth | None:
    """The measurements in a line, if any. `heading`: the kernel of a line that names none."""
    match = _MEASURE.search(line) if "GB/s" in line else None
    if match is None:
        return None
    before, after = line[: match.start()], line[match.end() :]
    ms, gigabytes, gb_per_s = map(float, match.groups())
    kernel = KernelBandwidth(number, ms, gigabytes, gb_per_s)
    keyed = _KERNEL.match(before if before.strip() else heading or "")
    if keyed:
        kernel.key = keyed.group(1)
    resources = _RESOURCES.search(after)
    if resources:
        kernel.registers, kernel.spills, kernel.shared_bytes = map(int, resources.groups())
    named = _NAME.match(after)
    if named:
        kernel.name = named.group(1)
    return kernel
