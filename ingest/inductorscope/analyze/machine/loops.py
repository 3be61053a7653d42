"""Analyses the innermost loops of a C++ kernel: vectors, the stack, gathers, calls."""

import re
from collections import Counter

import msgspec

from inductorscope.fields import Hidden
from inductorscope.formats.machine.assembly import Assembly, Loop

SCALAR = 0
STACK = "to and from the stack"
_VECTOR = re.compile(r"v?\w{2,24}p[sdh](?:z)?$|vp\w{2,24}$|v\w{2,20}(?:ps|pd|ph)\w{0,4}$")
_ONE = re.compile(r"v?\w{2,24}s[sdh]$")
_REGISTER = re.compile(r"%([xyz])mm\d")
_WIDTHS = {"x": 128, "y": 256, "z": 512}
_STACK = re.compile(r"-?(?:0x[0-9a-f]{1,8})?\(%r[bs]p\)")
_CALLED = re.compile(r"<([^>@+]{1,300})")


class LoopFigures(msgspec.Struct, frozen=True):
    """One innermost loop."""

    depth: Hidden[int]
    instructions: int
    vectors: dict[int, int] = msgspec.field(default_factory=dict)
    """Bits of a register → instructions that compute or move that many at once; 0 for instructions
    on a single floating-point number."""
    stack: int = 0
    """Instructions that move a register to or from the stack: a spilled register, or an element of
    an array."""
    gathers: int = 0
    calls: dict[str, int] = msgspec.field(default_factory=dict)
    """Called function → instructions that call it."""
    scalar: bool = False
    """Whether it computes floating-point numbers one by one."""
    lines: tuple[int, int] | None = None
    """First and last line of the output code that it computes; None if unknown."""


def kind_of(operation: str, operands: str) -> str:
    """Describes an instruction in a word or two."""
    if operation == "call":
        return "calls"
    if "gather" in operation:
        return "gathers"
    if on_stack(operation, operands):
        return STACK
    width = _width(operation, operands)
    if width is None:
        return "control" if operation.startswith(("j", "ret")) else "integers and addresses"
    return f"vectors of {width} bits" if width else "single numbers"


def on_stack(operation: str, operands: str) -> bool:
    """Whether an instruction moves a register to or from the stack: a spilled register, or an
    element of an array there."""
    return "mov" in operation and "%" in operands and _STACK.search(operands) is not None


def _width(operation: str, operands: str) -> int | None:
    """Returns the bits that an instruction computes or moves at once, `SCALAR` for a single
    floating-point number; None for others."""
    registers = _REGISTER.findall(operands)
    if registers and _ONE.match(operation):
        return SCALAR
    if registers and _VECTOR.match(operation):
        return max(_WIDTHS[register] for register in registers)
    return None


def loops_of(code: Assembly) -> list[tuple[Loop, LoopFigures]]:
    """Returns the innermost loops, the longest first."""
    found = [(loop, _figures(code, loop)) for loop in code.loops if loop.innermost]
    return sorted(found, key=lambda loop: (-loop[1].depth, -loop[1].instructions))


def _figures(code: Assembly, loop: Loop) -> LoopFigures:
    vectors: Counter[int] = Counter()
    calls: Counter[str] = Counter()
    stack = gathers = 0
    for at in loop.lines:
        operation, operands = code.operations[at], code.operands[at]
        gathers += "gather" in operation
        stack += on_stack(operation, operands)
        width = _width(operation, operands)
        if width is not None:
            vectors[width] += 1
        if operation == "call":
            called = _CALLED.search(operands)
            calls["an address" if called is None else called.group(1)] += 1
    # Moves and conversions of a single number have 128 bits, too.
    scalar = vectors[SCALAR] > vectors[128] and max(vectors) <= 128
    return LoopFigures(
        depth=loop.depth,
        instructions=len(loop.lines),
        vectors=dict(sorted(vectors.items(), reverse=True)),
        stack=stack,
        gathers=gathers,
        calls=dict(calls.most_common()),
        scalar=scalar,
    )
