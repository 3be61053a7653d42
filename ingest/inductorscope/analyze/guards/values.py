"""Evaluates recorded guards for given arguments, without running anything.

The text of a guard is parsed, and a small grammar of it is interpreted; everything else is reported
as unknown.
"""

import ast
import math
import operator
import re
from collections.abc import Callable
from typing import Any

import msgspec

from inductorscope.formats.call_shapes import Value
from inductorscope.formats.code.layouts import contiguous
from inductorscope.formats.log.guard_failures import source_as_written
from inductorscope.formats.log.guard_tree import GuardNode, GuardTree

LARGEST = 2**256
"""Larger numbers are not computed with."""

_FAILURES = (ValueError, TypeError, LookupError, ArithmeticError, RecursionError, MemoryError)
"""What computing a condition may raise."""
_LOCAL = re.compile(r"L\['([^']{1,200})'\]")
_TENSOR = re.compile(r"check_tensor\(L\['([^']{1,200})'\], ")
_EXPRESSIONS = (
    "LAMBDA_GUARD", "SYMBOLIC_SHAPE_GUARD", "EQUALS_MATCH", "CONSTANT_MATCH", "TRUE_MATCH",
    "FALSE_MATCH", "BOOL_MATCH", "NONE_MATCH",
)  # fmt: skip
_KEPT = ("NO_HASATTR", "HASATTR", "NO_TENSOR_ALIASING", "DIMENSION_DYNAMIC_MARKING_GUARD")
"""Kinds of guards that hold for arguments that differ from the recorded ones only in shape and
value."""


class Failed(msgspec.Struct, frozen=True):
    """The first guard that does not hold."""

    kind: str
    text: str
    """`x.size(0) == 8, and it is 9`."""
    code: str | None
    place: str | None


class Verdict(msgspec.Struct):
    """Whether a compile serves a call. It is unknown if no guard fails but some are unknown."""

    failed: Failed | None = None
    unknown: list[str] = msgspec.field(default_factory=list)
    """Guards on the given arguments that cannot be evaluated."""
    assumed: int = 0
    """Number of guards on anything else, which are assumed to hold."""
    named: set[str] = msgspec.field(default_factory=set)
    """Arguments that some guard names."""

    @property
    def serves(self) -> bool | None:
        return False if self.failed else None if self.unknown else True


class _UnknownError(Exception):
    pass


def examine(tree: GuardTree, values: dict[str, Value]) -> Verdict:
    """Evaluates the guards in Dynamo's initial order of checking."""
    verdict = Verdict()
    for node in tree.nodes:
        if node.kind == "manager":
            continue
        names = set(_LOCAL.findall(node.text)) & values.keys()
        verdict.named |= names
        if not names:
            verdict.assumed += 1
            continue
        try:
            why = _why_not(node, values)
        except _UnknownError:
            verdict.unknown.append(f"{node.kind}: {node.text[:200]}")
            continue
        if why:
            verdict.failed = Failed(node.kind, why, node.code, node.place)
            return verdict
    if tree.cut:
        verdict.unknown.append("guards beyond the limit")
    return verdict


def tensor_sizes(node: GuardNode) -> tuple[str, list[int | None], list[int | None]] | None:
    """Returns the argument, sizes and strides that a guard on a tensor requires; None for any."""
    match = _TENSOR.match(node.text) if node.kind == "TENSOR_MATCH" else None
    sizes, separator, strides = node.text.rpartition("size=[")[2].partition("], stride=[")
    if match is None or not separator:
        return None
    try:
        asked, steps = _numbers(sizes), _numbers(strides.partition("]")[0])
    except ValueError:
        return None
    return (match.group(1), asked, steps) if len(asked) == len(steps) else None


def _numbers(text: str) -> list[int | None]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    return [None if part == "None" else int(part) for part in parts]


def _why_not(node: GuardNode, values: dict[str, Value]) -> str:
    """Returns why a guard does not hold; empty if it does."""
    if node.kind in _KEPT:
        return ""
    if node.kind == "TENSOR_MATCH":
        return _tensor(node, values)
    if node.kind == "TYPE_MATCH":
        return _type(node, values)
    if node.kind not in _EXPRESSIONS:
        raise _UnknownError
    if bool(evaluate(node.text, values)):
        return ""
    name = next(name for name in _LOCAL.findall(node.text) if name in values)
    return f"{written(node.text)}, and {name} is {values[name]}"


def written(text: str) -> str:
    """Returns a condition as the program would write it: `8*x.size(0) <= 64`."""
    text = re.sub(r"\.(size|stride)\(\)\[(\d{1,6})\]", r".\1(\2)", text)
    return _LOCAL.sub(lambda match: match.group(1), text)


def _tensor(node: GuardNode, values: dict[str, Value]) -> str:
    asked = tensor_sizes(node)
    if asked is None:  # it is on an attribute of the argument, such as its gradient
        raise _UnknownError
    name, sizes, strides = asked
    given = values[name]
    if not isinstance(given, tuple):
        return f"{name} is a tensor, and here a number"
    if len(given) != len(sizes):
        return f"{name} has {len(sizes)} dimensions, and here {len(given)}"
    for what, wanted, have in (("size", sizes, given), ("stride", strides, contiguous(given))):
        for at, (one, other) in enumerate(zip(wanted, have, strict=True)):
            if one is not None and one != other:
                return f"{name}.{what}({at}) == {one}, and it is {other}"
    return ""


def _type(node: GuardNode, values: dict[str, Value]) -> str:
    match = _LOCAL.match(node.text.removeprefix("___check_type_id("))
    if match is None or not node.text.startswith(f"___check_type_id({match.group()},"):
        raise _UnknownError
    given = values[match.group(1)]
    # The guard on a tensor that follows includes its type.
    is_tensor = "Tensor" in node.type or "Parameter" in node.type
    if is_tensor or isinstance(given, tuple):
        same = is_tensor == isinstance(given, tuple)
    else:
        same = node.type == type(given).__name__
    return "" if same else f"{source_as_written(match.group())} is of type {node.type}"


def evaluate(text: str, values: dict[str, Value]) -> Any:  # noqa: ANN401  # any Python value
    """Returns the value of a condition. Raises _UnknownError for anything that is not in the
    grammar."""
    try:
        return _value(ast.parse(text.strip(), mode="eval").body, values)
    except (SyntaxError, *_FAILURES):
        raise _UnknownError from None


def truth(test: ast.expr, values: dict[str, Value]) -> bool | None:
    """Returns whether a condition of the program holds for its arguments; None if unknown."""
    try:
        answer = _value(test, values)
    except (_UnknownError, *_FAILURES):
        return None
    return bool(answer) if isinstance(answer, int | float) else None


def _value(node: ast.expr, values: dict[str, Value]) -> Any:  # noqa: ANN401  # any Python value
    match node:
        case ast.Constant(value=bool() | int() | float() | str() | None):
            return node.value
        case ast.UnaryOp() if type(node.op) in _UNARY:
            return _UNARY[type(node.op)](_value(node.operand, values))
        case ast.BoolOp():
            return _both(node.values, values, isinstance(node.op, ast.And))
        case ast.BinOp() if type(node.op) in _BINARY:
            both = _value(node.left, values), _value(node.right, values)
            if all(isinstance(side, int | float) for side in both):  # a text times 10**9 is huge
                return _limited(_BINARY[type(node.op)](*both))
        case ast.Compare() if all(type(op) in _COMPARED for op in node.ops):
            parts = [_value(part, values) for part in (node.left, *node.comparators)]
            return all(
                _COMPARED[type(op)](parts[at], parts[at + 1]) for at, op in enumerate(node.ops)
            )
        case (
            ast.Name(id=name)
            | ast.Subscript(value=ast.Name(id="L"), slice=ast.Constant(value=str(name)))
        ) if name in values:
            return values[name]
        case ast.Attribute(attr="shape"):
            return _shape(node.value, values)
        case ast.Subscript(slice=ast.Constant(value=int(at))):
            sizes = _shape(node.value, values)
            if -len(sizes) <= at < len(sizes):
                return sizes[at]
        case ast.Call(keywords=[]):
            return _returned(node, values)
    raise _UnknownError


def _shape(node: ast.expr, values: dict[str, Value]) -> tuple[int, ...]:
    if isinstance(shape := _value(node, values), tuple):
        return shape
    raise _UnknownError


def _returned(call: ast.Call, values: dict[str, Value]) -> Any:  # noqa: ANN401  # any Python value
    """Returns what a tensor's method or a function returns."""
    match call.func:
        case ast.Attribute(value=tensor, attr=method) if method in _METHODS:
            answer = _METHODS[method](_shape(tensor, values))
            return answer[_value(call.args[0], values)] if call.args else answer
        case ast.Name(id="And" | "Or" as name) | ast.Attribute(attr="And" | "Or" as name):
            return _both(call.args, values, name == "And")
        case ast.Name(id=name) | ast.Attribute(attr=name) if name in _FUNCTIONS:
            return _limited(_FUNCTIONS[name](*(_value(given, values) for given in call.args)))
    raise _UnknownError


def _both(parts: list[ast.expr], values: dict[str, Value], every: bool) -> bool:
    """Evaluates `and` or `or`. A known part may decide even if another is unknown."""
    unknown = False
    for part in parts:
        try:
            if bool(_value(part, values)) != every:
                return not every
        except _UnknownError:
            unknown = True
    if unknown:
        raise _UnknownError
    return every


def _limited(value: Any) -> Any:  # noqa: ANN401  # any Python value
    if isinstance(value, int | float) and abs(value) > LARGEST:
        raise _UnknownError
    return value


def _power(base: float, exponent: float) -> Any:  # noqa: ANN401  # any Python value
    if abs(exponent) > 64 or abs(base) > 2**64:
        raise _UnknownError
    return base**exponent


_UNARY: dict[type, Callable[[Any], Any]] = {ast.USub: operator.neg, ast.Not: operator.not_}
_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
    ast.Pow: _power,
}  # fmt: skip
_COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Is: lambda one, other: one is other, ast.IsNot: lambda one, other: one is not other,
}  # fmt: skip
_METHODS: dict[str, Callable[[tuple[int, ...]], Any]] = {
    "size": lambda shape: shape, "stride": lambda shape: tuple(contiguous(shape)),
    "storage_offset": lambda shape: 0, "dim": len, "numel": math.prod,
}  # fmt: skip
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "Eq": operator.eq, "Ne": operator.ne, "Lt": operator.lt, "Le": operator.le,
    "Gt": operator.gt, "Ge": operator.ge, "Not": operator.not_, "Mod": operator.mod,
    "PythonMod": operator.mod, "FloorDiv": operator.floordiv, "CleanDiv": operator.floordiv,
    "CeilDiv": lambda one, other: -(-one // other), "IntTrueDiv": operator.truediv,
    "FloatTrueDiv": operator.truediv, "ToFloat": float, "TruncToInt": math.trunc,
    "Max": max, "Min": min, "max": max, "min": min, "abs": abs, "Abs": abs, "int": int,
    "floor": math.floor, "ceil": math.ceil, "trunc": math.trunc, "Identity": lambda value: value,
    "sym_float": float, "FloorToInt": math.floor, "CeilToInt": math.ceil, "PowByNatural": _power,
    "len": len,
}  # fmt: skip
