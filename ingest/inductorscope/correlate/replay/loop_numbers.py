"""Sizes of loops and strides of index expressions as numbers.

Every symbol of a dynamic shape counts as the same large number, because equal sizes have different
names: `s7` in loops, `s50` in indexes.
"""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from math import prod

from inductorscope.formats.graph.ir import IrLoopBody
from inductorscope.formats.text import split_top, whole_number

LOOP = re.compile(r"\bp\d+\b")
_SYMBOL = re.compile(r"[a-z]{1,4}\d{1,6}$")
_SIZE_OF_SYMBOL = 1_000_003
_LONGEST = 1000
"""Longest expression that is parsed, in characters."""
_LARGEST_POWER = 4


def loops_of(body: IrLoopBody) -> list[tuple[str, int]]:
    """The loops that turn more than once and their sizes; -1 where that is not known."""
    loops: list[tuple[str, int]] = []
    for item in split_top(body.var_ranges.strip()[1:-1]):
        name, _, size = item.partition(":")
        number = whole_number(size.strip())
        if number is None:
            number = _number(size.strip())
        loops.append((name.strip(), -1 if number is None else number))
    return [(name, size) for name, size in loops if size != 1]


@lru_cache(maxsize=1024)
def _number(text: str) -> int | None:
    parsed = None if LOOP.search(text) else _parsed(text)
    return None if parsed is None else _value(parsed, "")


def plain_strides(index: str) -> tuple[dict[str, int], list[str]] | None:
    """Loop → stride of an index that is a plain sum, and what it adds; None for any other."""
    strides: dict[str, int] = {}
    rest: list[str] = []
    for term in index.split(" + "):
        factors = [_factor(factor) for factor in term.split("*")]
        loops = [factor for factor in factors if isinstance(factor, str)]
        numbers = [factor for factor in factors if isinstance(factor, int)]
        if len(loops) > 1 or len(loops) + len(numbers) < len(factors):
            return None
        if loops:
            strides[loops[0]] = prod(numbers)
        else:
            rest.append(term)
    return strides, rest


def _factor(text: str) -> int | str | None:
    """The number that a factor is; the name of a loop as it is; None for anything else."""
    if LOOP.fullmatch(text):
        return text
    number = whole_number(text)
    return _symbol(text) if number is None else number


def _symbol(name: str) -> int | None:
    return _SIZE_OF_SYMBOL if _SYMBOL.match(name) and not LOOP.match(name) else None


def first_moves(index: str, names: tuple[str, ...]) -> tuple[int, ...]:
    """How far the first turn of each loop moves in an index that divides loops; none if unknown."""
    parsed = _parsed(index)
    if parsed is None:
        return ()
    start = _value(parsed, "")
    ends = [_value(parsed, name) for name in names]
    known = [end for end in ends if end is not None]
    return () if start is None or len(known) < len(ends) else tuple(end - start for end in known)


def _parsed(text: str) -> ast.expr | None:
    if len(text) > _LONGEST:
        return None
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _value(node: ast.expr, turned: str) -> int | None:
    """The value of an expression after one turn of a loop."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, int) else None
    if isinstance(node, ast.Name):
        return int(node.id == turned) if LOOP.fullmatch(node.id) else _symbol(node.id)
    operands: list[ast.expr] = []
    if isinstance(node, ast.BinOp):
        operands = [node.left, node.right]
    elif isinstance(node, ast.UnaryOp):
        operands = [node.operand]
    elif isinstance(node, ast.Call):
        operands = node.args
    values = [value for each in operands if (value := _value(each, turned)) is not None]
    if len(values) < len(operands):
        return None
    match node, values:
        case ast.Call(func=ast.Name("ModularIndexing")), [value, divisor, size] if divisor and size:
            return value // divisor % size
        case ast.Call(func=ast.Name("Min" | "Max" as choice)), [_, *_]:
            return min(values) if choice == "Min" else max(values)
        case ast.UnaryOp(op=ast.USub()), [value]:
            return -value
        case ast.BinOp(op=ast.Add()), [left, right]:
            return left + right
        case ast.BinOp(op=ast.Sub()), [left, right]:
            return left - right
        case ast.BinOp(op=ast.Mult()), [left, right]:
            return left * right
        case ast.BinOp(op=ast.FloorDiv()), [left, right] if right:
            return left // right
        case ast.BinOp(left=ast.Name(name), op=ast.Pow()), [base, power] if (
            not LOOP.fullmatch(name) and 0 <= power <= _LARGEST_POWER
        ):
            return prod([base] * power)
    return None
