"""Computes symbolic sizes with the values that the texts themselves give.

    s77 = arg0_1                                        in the wrapper
    arg0_1 = 9                                          in the code's own `get_args`
    assert_size_stride(arg1_1, (s77, 8), (8, 1))        with `rand_strided((9, 8), …)`

Such a value was seen while compiling and is not the only one possible: pages that show a derived
number say so.
"""

import ast
import re
from collections.abc import Mapping

from inductorscope.formats.code.layouts import Layout

# `    s77 = arg0_1`
_NAMED = re.compile(r"\s+([A-Za-z]\w*) = (\w+)$")
# `triton_poi_fused_add_sin_0_xnumel = 8*s77`
_NUMEL = re.compile(r"\s+(\w+_(?:[xyz]|r\d?_?)numel) = (.{1,200})$")
# `    arg0_1 = 9`
_GIVEN = re.compile(r"\s+(\w+) = (\d{1,15})$")
_SYMBOL = re.compile(r"[a-z]+\d+")
_CPP_NUMBER = re.compile(r"(?<=\d)L+\b")
LONGEST = 200
"""Longest expression that is evaluated, in characters."""
LARGEST = 2**62


def hints_of(
    wrapper: list[str],
    after: list[str],
    asserted: Mapping[str, Layout],
    given: Mapping[str, Layout],
) -> dict[str, int]:
    """Symbol → its value. `wrapper` and `after` are lines of the wrapper and those below it, which
    make its arguments; `asserted` and `given` are layouts of inputs with and without symbols."""
    numbers = {
        match.group(1): int(match.group(2)) for line in after if (match := _GIVEN.match(line))
    }
    hints: dict[str, int] = {}
    for line in wrapper:
        match = _NAMED.match(line)
        if match is not None and match.group(2) in numbers:
            hints.setdefault(match.group(1), numbers[match.group(2)])
    for name, layout in asserted.items():
        seen = given.get(name)
        if seen is None or len(seen.shape) != len(layout.shape):
            continue
        for symbol, number in zip(layout.shape, seen.shape, strict=True):
            if _SYMBOL.fullmatch(symbol) and number.isdecimal():
                hints.setdefault(symbol, int(number[:18]))
    return hints


def launch_numbers(wrapper: list[str], hints: Mapping[str, int]) -> dict[str, int]:
    """The symbols, and the numbers that the wrapper computes from them before launches."""
    numbers = dict(hints)
    for line in wrapper:
        match = _NUMEL.match(line) if "numel = " in line else None
        value = evaluated(match.group(2), numbers) if match is not None else None
        if match is not None and value is not None:
            numbers[match.group(1)] = value
    return numbers


def evaluated(expression: str, hints: Mapping[str, int]) -> int | None:
    """Returns the value of an expression of sizes; None if unknown."""
    if expression.isdecimal():  # most are plain numbers
        return int(expression) if len(expression) < 19 else None
    text = _CPP_NUMBER.sub("", expression.strip())
    if text.isdecimal():
        return int(text) if len(text) < 19 else None
    if not text or len(text) > LONGEST:
        return None
    try:
        parsed = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return _value(parsed.body, hints)


def _value(node: ast.expr, hints: Mapping[str, int]) -> int | None:
    if isinstance(node, ast.Constant):
        value = node.value
        return value if isinstance(value, int) and abs(value) < LARGEST else None
    if isinstance(node, ast.Name):
        return hints.get(node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _value(node.operand, hints)
        return None if inner is None else -inner
    if isinstance(node, ast.BinOp):
        return _combined(node, hints)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        values = [_value(argument, hints) for argument in node.args]
        known = [value for value in values if value is not None]
        choose = {"max": max, "min": min, "Max": max, "Min": min}.get(node.func.id)
        return choose(known) if choose and known and len(known) == len(values) else None
    return None


def _combined(node: ast.BinOp, hints: Mapping[str, int]) -> int | None:
    left, right = _value(node.left, hints), _value(node.right, hints)
    if left is None or right is None:
        return None
    result: int | None = None
    if isinstance(node.op, ast.Add):
        result = left + right
    elif isinstance(node.op, ast.Sub):
        result = left - right
    elif isinstance(node.op, ast.Mult):
        result = left * right
    elif isinstance(node.op, ast.FloorDiv) and right:
        result = left // right
    elif isinstance(node.op, ast.Mod) and right:
        result = left % right
    return result if result is not None and abs(result) < LARGEST else None


def settled(layout: Layout, hints: Mapping[str, int]) -> tuple[Layout, tuple[str, ...]]:
    """The layout in numbers, and the symbols that were replaced by hints."""
    used: dict[str, None] = {}

    def number(size: str) -> str:
        value = evaluated(size, hints)
        if value is None or size == str(value):
            return size
        used.update(dict.fromkeys(name for name in re.findall(r"[A-Za-z_]\w*", size)
                                  if name in hints))  # fmt: skip
        return str(value)

    shape = tuple(number(size) for size in layout.shape)
    stride = tuple(number(size) for size in layout.stride)
    return Layout(shape, stride, layout.dtype, layout.device), tuple(used)
