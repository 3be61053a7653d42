"""Counts the different elements that an index reaches while its variables run over their ranges.

x0 + 256*x1         x0 < 256, x1 < 1024    262,144: no two pairs give the same sum x0 + x1
x0 < 16, x1 < 4        19: windows that overlap x0 + 256*tmp5       where a value decides, at most
one element for each turn of the loops
"""

import ast
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from math import gcd, prod

import msgspec

LONGEST = 3000
"""Longest index that is parsed, in characters."""
LARGEST = 2**62
MOST_VARIABLES = 100
"""Variables with ranges that one kernel may have; Inductor writes a handful."""
REMEMBERED, SHORT = 1000, 200
"""Number of parsed indices that are cached; each takes about 5 KB."""

_CAST = re.compile(r"\bstatic_cast<[\w: ]+>\(")
_NUMBER = re.compile(r"(?<=\d)L+\b")
_FLOOR = re.compile(r"\bc10::div_floor_integer\(")


class Space(msgspec.Struct):
    """Ranges of variables."""

    ranges: dict[str, int] = msgspec.field(default_factory=dict)
    """Variable → number of its values, from 0."""
    group: dict[str, str] = msgspec.field(default_factory=dict)
    """Variable → the index it was split from: variables of one index together have no more values
    than the index."""
    whole: dict[str, int] = msgspec.field(default_factory=dict)
    """Index → number of its values."""
    numbers: dict[str, int] = msgspec.field(default_factory=dict)
    """Names that stand for one number."""
    depends: dict[str, frozenset[str]] = msgspec.field(default_factory=dict)
    """Value → the variables that it depends on."""

    def turns(self, variables: Iterable[str]) -> int:
        """Number of different values of these variables together."""
        products: dict[str, int] = {}
        for name in variables:
            group = self.group.get(name, name)
            products[group] = products.get(group, 1) * self.ranges[name]
        return min(
            prod(min(size, self.whole.get(group, size)) for group, size in products.items()),
            LARGEST,
        )

    def decided_by(self, names: Iterable[str]) -> frozenset[str]:
        """Returns the variables that the names depend on."""
        variables: set[str] = set()
        for name in names:
            if name in self.ranges:
                variables.add(name)
            elif name in self.depends:
                variables |= self.depends[name]
        return frozenset(variables)


class Reach(msgspec.Struct, frozen=True):
    """The elements that an index reaches."""

    count: int
    """Number of different elements, or an upper bound."""
    exact: bool


class _Sum(msgspec.Struct):
    """A sum of variables times numbers."""

    terms: dict[str, int] = msgspec.field(default_factory=dict)
    """Variable, or a part of one → factor."""
    sizes: dict[str, int] = msgspec.field(default_factory=dict)
    """Number of values of each."""
    names: set[str] = msgspec.field(default_factory=set)
    exact: bool = True


def reach(index: str, space: Space) -> Reach | None:
    """Returns the reach of an index in Triton's or C++'s notation; None if it cannot be parsed."""
    parsed = parsed_index(index)
    if parsed is None:
        return None
    total = _Sum()
    try:
        _add(total, parsed, 1, space)
    except RecursionError:
        return None
    # An index reaches at most as many elements as its loops have iterations.
    most = space.turns(space.decided_by(total.names))
    if not total.exact:
        return Reach(most, False)
    count, exact = distinct(
        [(abs(factor), total.sizes[key]) for key, factor in total.terms.items() if factor]
    )
    return Reach(most, False) if count > most else Reach(count, exact)


def distinct(steps: list[tuple[int, int]]) -> tuple[int, bool]:
    """Returns the number of different sums that take one multiple of each term: (factor, number of
    multiples from 0)."""
    count = 1
    span = common = 0
    exact = True
    for factor, size in sorted(steps):
        if size <= 0:
            return 0, True
        if size == 1:
            continue
        common = gcd(common, factor)
        wider = span + factor * (size - 1)
        if factor > span:
            count *= size
        elif count == span // common + 1:  # a dense run, shifted by less than its length
            count = wider // common + 1
        else:
            count, exact = min(count * size, wider // common + 1), False
        span = wider
    return min(count, LARGEST), exact


def values(index: str, space: Space) -> int | None:
    """Returns the number of values of `xindex // 256` or `(xindex // 4) % 8`; None for anything
    else."""
    parsed = parsed_index(index)
    parts = None if parsed is None else _values(parsed, space)
    return None if parts is None else parts[1]


def parsed_index(index: str) -> ast.expr | None:
    """Parses an index; C++ is converted to Triton's notation. Results are cached, because kernels
    share most of their indices, and must not be changed."""
    return _remembered(index) if len(index) <= SHORT else _parsed(index)


def _parsed(index: str) -> ast.expr | None:
    if len(index) > LONGEST:
        return None
    if "static_cast" in index:
        index = _CAST.sub("(", index)
    if "div_floor" in index:
        index = _FLOOR.sub("div(", index)
    text = _NUMBER.sub("", index).replace("tl.", "").strip()
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


_remembered = lru_cache(maxsize=REMEMBERED)(_parsed)


def _add(total: _Sum, node: ast.expr, factor: int, space: Space) -> None:
    """Adds `factor` times the expression."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        _add(total, node.left, factor, space)
        _add(total, node.right, factor if isinstance(node.op, ast.Add) else -factor, space)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        _add(total, node.operand, -factor, space)
    elif isinstance(node, ast.Call) and _called(node) == "broadcast_to" and node.args:
        _add(total, node.args[0], factor, space)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        for number, other in ((node.left, node.right), (node.right, node.left)):
            value = _number(number, space)
            if value is not None and abs(value * factor) < LARGEST:
                _add(total, other, factor * value, space)
                return
        _refuse(total, node)
    elif _number(node, space) is None:
        parts = _values(node, space)
        if parts is None:
            _refuse(total, node)
            return
        variable, size = parts
        key = variable if isinstance(node, ast.Name) else ast.dump(node)
        total.names.add(variable)
        total.terms[key] = total.terms.get(key, 0) + factor
        total.sizes[key] = size


def _number(node: ast.expr, space: Space) -> int | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _number(node.operand, space)
        return None if inner is None else -inner
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, int) else None
    if isinstance(node, ast.Name):
        return space.numbers.get(node.id)
    return None


def _values(node: ast.expr, space: Space) -> tuple[str, int] | None:
    """Returns (variable, number of values) of a variable, its quotient, its remainder, or both."""
    if isinstance(node, ast.Name):
        return (node.id, space.ranges[node.id]) if node.id in space.ranges else None
    if isinstance(node, ast.Call) and _called(node) == "div" and len(node.args) == 2:
        node = ast.BinOp(node.args[0], ast.FloorDiv(), node.args[1])
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.FloorDiv | ast.Mod):
        return None
    inner, by = _values(node.left, space), _number(node.right, space)
    if inner is None or by is None or by <= 0:
        return None
    variable, size = inner
    return variable, min(size, by) if isinstance(node.op, ast.Mod) else -(-size // by)


def _called(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else ""


def _refuse(total: _Sum, node: ast.expr) -> None:
    """Rejects a term that is not such a sum. Its dependencies still limit the elements that are
    reached."""
    total.exact = False
    total.names.update(inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name))


def numbers_only(space: Mapping[str, int], text: str) -> int | None:
    """Returns a whole number, or a name that stands for one."""
    bare = text.strip().rstrip("L")
    return int(bare) if bare.isdecimal() and len(bare) < 19 else space.get(bare)
