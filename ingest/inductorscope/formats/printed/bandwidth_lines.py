"""Lines with the time of one kernel and the bytes it moved."""

from __future__ import annotations

import re

import msgspec

_NUMBER = r"\d{1,15}(?:\.\d{1,9})?"
# 0.014ms    	0.005 GB 	  345.56GB/s; a kernel's file run alone prints `0.005GB`
_MEASURE = re.compile(
    rf"(?<![\w.])({_NUMBER})ms\s{{1,20}}({_NUMBER})\s{{0,20}}GB\s{{1,20}}({_NUMBER})\s{{0,20}}GB/s"
)
#   156 regs    0 spills         0 shared mem
_RESOURCES = re.compile(r"(\d{1,9}) regs +(\d{1,9}) spills +(\d{1,12}) shared mem")
# None                 UNK ct6punxkug
_KERNEL = re.compile(r"^(.{0,1000}\S) +([A-Z]{3}) ([a-z0-9]{10})\s*$")
# A share and a name: 12.34% 	 triton_poi_fused_add_0
_SHARE = re.compile(r"^\s{0,20}(\d{1,9}(?:\.\d{1,9})?)%\s{1,20}")
_NAME = re.compile(r"^[A-Za-z_]\w{0,1000}$")


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
    category: str | None = None
    """The first three letters of its kind in capitals, such as POI; UNK if unknown."""
    benchmark: str | None = None
    percent: float | None = None
    """Percent of the time of all kernels of its graph."""
    registers: int | None = None
    spills: int | None = None
    shared_bytes: int | None = None
    config: str | None = None
    """The configuration, with `-c`."""
    slow: bool = False
    """Whether it was printed in colour: more than 0.012 ms at less than 650 GB/s."""


class BandwidthReport(msgspec.Struct):
    """The report of `TORCHINDUCTOR_PROFILE=1` about one graph."""

    file: str
    """The generated file that ran."""
    line: int
    kernels: list[KernelBandwidth] = msgspec.field(default_factory=list)
    total_ms: float | None = None
    total_gb: float | None = None
    total_gb_per_s: float | None = None


def kernel_of(
    line: str, number: int, heading: str | None, *, slow: bool = False
) -> KernelBandwidth | None:
    """The measurements in a line, if any. `heading`: the kernel of a line that names none."""
    match = _MEASURE.search(line) if "GB/s" in line else None
    if match is None:
        return None
    before, after = line[: match.start()], line[match.end() :]
    ms, gigabytes, gb_per_s = map(float, match.groups())
    kernel = KernelBandwidth(number, ms, gigabytes, gb_per_s, slow=slow)
    named = _KERNEL.match(before if before.strip() else heading or "")
    if named:
        benchmark, kernel.category, kernel.key = named.groups()
        kernel.benchmark = None if benchmark == "None" else benchmark
    resources = _RESOURCES.search(after)
    if resources:
        kernel.registers, kernel.spills, kernel.shared_bytes = map(int, resources.groups())
        after = after[resources.end() :]
    share = _SHARE.match(after)
    if share:
        kernel.percent = float(share.group(1))
        after = after[share.end() :]
    rest = after.strip()
    if rest.startswith("@ "):
        kernel.config = rest.removeprefix("@ ")
    elif _NAME.match(rest):
        kernel.name = rest
    return kernel


def kernel_heading(line: str) -> str | None:
    """A line that names a kernel; measurements of its configurations follow."""
    return line if len(line) < 1100 and _KERNEL.match(line) else None


def summary_of(line: str) -> tuple[float, float, float] | None:
    match = _MEASURE.search(line)
    if match is None:
        return None
    ms, gigabytes, gb_per_s = map(float, match.groups())
    return ms, gigabytes, gb_per_s
