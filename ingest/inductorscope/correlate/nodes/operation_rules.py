"""What an operation costs as the outermost one that a node is lowered to: the first rule that
answers decides.

A rule is a function with a docstring, which says why and has an example, and an entry of `RULES`.
Its weight has a name. `python -m bench.ablate` prints what each is worth.
"""

from collections.abc import Callable

from inductorscope.correlate.nodes.body import BAD, Body
from inductorscope.correlate.nodes.fx_value import FxValue
from inductorscope.correlate.nodes.lowerings import (
    CHOOSES,
    MASKS,
    MOVES,
    POOLS,
    PURE_COPIES,
    REDUCES,
    SCANS,
    STRICT,
)
from inductorscope.correlate.nodes.region import Operation

Rule = Callable[[Body, Operation, FxValue], float | None]

ARITHMETIC = frozenset(["add", "sub", "mul", "floordiv", "truncdiv", "mod", "remainder"])
_CONTRARY = frozenset([("add", "sub"), ("sub", "add")])
_HALVES = frozenset(["bfloat16", "float16"])
_AROUND_VALUES = frozenset(["getitem", "set_indirect", "masked_subblock", "check_bounds", "scan"])

_FITS = 0.0
_WINDOW = 0.002
_STEP = 0.01
"""Cost of an operation that the lowering uses, but others use too."""
_CONVERTS = 0.03
_ABSORBED = 0.03
"""Cost of any operation for a node whose lowering is not known."""
_AROUND = 0.05
_NEGATED = 0.1
_MOVED = 0.15
"""Cost of any operation for a node that only moves elements."""
_CONVERTED = 0.3
"""Cost of a conversion to another type as the value of a copy, which its user asked for."""
_NO_PART = 0.5
_SCANS = 0.6
_NO_REDUCTION = 1.0


def cost_of_operation(body: Body, operation: Operation, node: FxValue) -> tuple[float, Rule | None]:
    """The cost, and the rule that decides."""
    for rule in RULES:
        cost = rule(body, operation, node)
        if cost is not None:
            return cost, rule
    return _ABSORBED, None


def scan(_: Body, operation: Operation, node: FxValue) -> float | None:
    """`cumsum` scans, perhaps converts, and does nothing else; nothing else scans."""
    if node.op in SCANS and operation.op not in ("scan", "getitem"):
        return _AROUND if operation.op == "to_dtype" else _NO_PART
    return _SCANS if operation.op == "scan" and node.op not in SCANS else None


def around_values(_: Body, operation: Operation, node: FxValue) -> float | None:
    """Results, checked indices and masks stand around the operations of any lowering, unless that
    is one operation, as of `add`."""
    if operation.op not in _AROUND_VALUES:
        return None
    return _FITS if node.op not in STRICT or node.op in (operation.op, "sort") else BAD


def conversion(_: Body, operation: Operation, node: FxValue) -> float | None:
    """A conversion to a node's type may be a part of any lowering that is not one operation. Half
    precision is reduced in single precision: `sum` in bfloat16 converts at its end."""
    if operation.op != "to_dtype" or node.op in ("convert_element_type", "_to_copy"):
        return None
    fits = not node.dtype or operation.dtype in ("", node.dtype)
    if node.op in REDUCES and operation.dtype == node.dtype and node.dtype in _HALVES:
        return _FITS
    if node.op in PURE_COPIES and not fits and node.dtype not in _HALVES:
        return _CONVERTED
    return _CONVERTS if fits else BAD if node.op in STRICT else _AROUND


def known_lowering(_: Body, operation: Operation, node: FxValue) -> float | None:
    """A node is lowered to the operation of its name, or to one that its table lists. `add` is a
    `sub` only where its argument is negated."""
    strict = STRICT.get(node.op)
    if strict is None:
        return None
    if (operation.op, node.op) in _CONTRARY:
        return _NEGATED
    return _FITS if operation.op in strict else BAD


def reduction(_: Body, operation: Operation, node: FxValue) -> float | None:
    """`amax` reduces by `max`."""
    if operation.op != "reduction":
        return None
    return _FITS if operation.reduction in REDUCES.get(node.op, ()) else _NO_REDUCTION


def same_name(_: Body, operation: Operation, node: FxValue) -> float | None:
    return _FITS if operation.op == node.op else None


def pool(_: Body, operation: Operation, node: FxValue) -> float | None:
    """A pool combines the elements of a window; converting offsets within windows to indices takes
    arithmetic only."""
    if not node.op.startswith(POOLS):
        return None
    if not node.op.endswith("_to_indices"):
        return _WINDOW
    return _FITS if operation.op in ARITHMETIC else _ABSORBED


def choice(_: Body, operation: Operation, node: FxValue) -> float | None:
    """A concatenation chooses between its pieces."""
    return _STEP if node.op in MASKS and operation.op in CHOOSES else None


def move(_: Body, operation: Operation, node: FxValue) -> float | None:
    """What only moves elements computes nothing."""
    return _MOVED if node.op in MOVES else None


RULES: tuple[Rule, ...] = (
    scan, around_values, conversion, known_lowering, reduction, same_name, pool, choice, move,
)  # fmt: skip
