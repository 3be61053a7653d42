"""Writes a loop's text for `llvm-mca`, and reads its output.

Iterations:        100
Total Cycles:      510
Throughput Bottlenecks:
  Resource Pressure       [ 0.00% ]
  - Register Dependencies [ 18.24% ]
"""

import re

import msgspec

from inductorscope.formats.machine.assembly import Assembly, Loop

WIDE, NARROW = "icelake-server", "haswell"
"""The processors to model: for loops with registers of 512 bits, and for others."""
MOST_INSTRUCTIONS = 500
_ITERATIONS = re.compile(r"^Iterations: +(\d{1,9})$", re.M)
_CYCLES = re.compile(r"^Total Cycles: +(\d{1,12})$", re.M)
_LIMITS = {
    "Resource Pressure": "busy units",
    "Register Dependencies": "the result of another instruction",
    "Memory Dependencies": "an earlier store",
}
_LIMIT = re.compile(rf"({'|'.join(_LIMITS)}) +\[ (\d{{1,3}}\.\d{{1,2}})%")
_PLAIN = re.compile(r"[a-z][-\w%$(),.*{}+: ]*")


class Throughput(msgspec.Struct, frozen=True):
    """The cost of an iteration of a loop, in a model of a processor."""

    cycles: float
    limit: str
    """The main bottleneck; empty if there is none."""
    share: float
    """Share of the cycles in which it limits the loop."""


def loop_text(code: Assembly, loop: Loop) -> tuple[str, str]:
    """Returns the loop in assembler, and the processor to model. Empty for a long loop."""
    if len(loop.lines) > MOST_INSTRUCTIONS:
        return "", ""
    lines = [".L0:"]
    for at in loop.lines:
        operation, operands = code.operations[at], code.operands[at]
        if operation.startswith("j"):
            operands = ".L0"
        elif operation == "call":
            operands = "f"
        if operation and _PLAIN.fullmatch(line := f"{operation} {operands}".strip()):
            lines.append(line)
    text = "\n".join(lines) + "\n"
    return text, WIDE if "%zmm" in text else NARROW


def read_mca(text: str) -> Throughput | None:
    iterations, cycles = _ITERATIONS.search(text), _CYCLES.search(text)
    if iterations is None or cycles is None or not int(iterations.group(1)):
        return None
    limits = {_LIMITS[name]: float(share) / 100 for name, share in _LIMIT.findall(text)}
    limit = max(limits, key=lambda name: limits[name], default="")
    share = limits.get(limit, 0.0)
    return Throughput(
        int(cycles.group(1)) / int(iterations.group(1)), limit if share else "", share
    )
