"""Lines with the time of one kernel and the bytes it moved."""

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
_KERNEL = re.compile(r"^.{0,1000}\S +[A-Z]{3} ([a-z0-9]{10})\s*$")
# A share and a name: 12.34% 	 triton_poi_fused_add_0
_NAME = re.compile(r"^\s{0,20}(?:\d{1,9}(?:\.\d{1,9})?%\s{1,20})?([A-Za-z_]\w{0,1000})\s*$")


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


def kernel_heading(line: str) -> str | None:
    """A line that names a kernel; measurements of its configurations follow."""
    return line if len(line) < 1100 and _KERNEL.match(line) else None
