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
# Total wall time 1.023 ms
_WALL = re.compile(r"^[ \t]{0,20}Total wall time (\d{1,15}(?:\.\d{1,9})?) ms[ \t]{0,20}$", re.M)
# 0.001023, without the profiler; -p prints the seconds with it after that
_SECONDS = re.compile(r"^[ \t]{0,20}(\d{1,9}\.\d{6})[ \t]{0,20}$", re.M)
_SUMMARY = "SUMMARY ("
"""SUMMARY (/tmp/torchinductor_user/cx/ccx….py); the next line sums up all kernels."""


class KernelBandwidth(msgspec.Struct):
    """Measurements of one kernel that ran alone."""

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


class BenchmarkLog(msgspec.Struct):
    """The content of a log, in order."""

    wall_ms: float | None = None
    """Time of one call, of the first module that ran."""
    kernels: list[KernelBandwidth] = msgspec.field(default_factory=list)
    """From `-k`, `-c`, kernels that ran alone, and reports of `TORCHINDUCTOR_PROFILE=1`."""
    problems: list[Problem] = msgspec.field(default_factory=list)


def parse_benchmark_log(text: str) -> BenchmarkLog:
    lines = [line.rstrip("\r") for line in _ANSI.sub("", text).split("\n")]
    log = BenchmarkLog(_wall_ms("\n".join(lines)))
    heading: str | None = None
    """With `-c`, the kernel that the following measurements of configurations belong to."""
    summed = False
    for number, line in enumerate(lines, 1):
        if summed:
            summed = False
        elif _SUMMARY in line:
            summed = True
        elif kernel := kernel_of(line, heading):
            log.kernels.append(kernel)
        else:
            if "GB/s" in line and "\t" in line:
                reason = "a kernel's measurements could not be read"
                log.problems.append(Problem(number, reason))
            # A line that names a kernel comes before the measurements of its configurations.
            heading = line if len(line) < 1100 and _KERNEL.match(line) else None
    if log.wall_ms is None and not log.kernels:
        log.problems.append(Problem(None, "no report of a benchmark was found"))
    left_out: Counter[str] = Counter()
    within([log], left_out)
    log.problems += [Problem(None, reason) for reason in left_out.elements()]
    return log


def _wall_ms(text: str) -> float | None:
    wall, seconds = _WALL.search(text), _SECONDS.search(text)
    if wall is not None:
        return float(wall[1])
    return float(seconds[1]) * 1e3 if seconds is not None else None


def kernel_of(line: str, heading: str | None) -> KernelBandwidth | None:
    """The measurements in a line, if any. `heading`: the kernel of a line that names none."""
    match = _MEASURE.search(line) if "GB/s" in line else None
    if match is None:
        return None
    before, after = line[: match.start()], line[match.end() :]
    ms, gigabytes, gb_per_s = map(float, match.groups())
    kernel = KernelBandwidth(ms, gigabytes, gb_per_s)
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
