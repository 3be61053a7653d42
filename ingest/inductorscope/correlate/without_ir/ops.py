"""The `ops.*` of a kernel's statement, from its text alone."""

import re
from collections.abc import Collection

from inductorscope.correlate.kernels.statements import Statement
from inductorscope.correlate.nodes.lowerings import STRICT
from inductorscope.correlate.replay.emission import EXPECTED

_FUNCTIONS: dict[str, str] = {
    "max_propagate_nan": "maximum", "min_propagate_nan": "minimum", "fmadd": "fma",
    "clamp_min": "maximum", "clamp_max": "minimum",
    "blendv": "where", "fabs": "abs", "nearbyint": "round", "rint": "round", "sqrt_rn": "sqrt",
    "normalized_rand_cpu": "rand", "randn_cpu": "randn", "randint64_cpu": "randint64",
    "sort_with_index": "sort", "associative_scan": "scan",
    "exclusive_scan_decoupled_lookback": "scan", "bucketize_binary_search": "bucketize",
    "div_floor_integer": "floordiv", "div_floor_floating": "floordiv",
    "div_floor_floating_vec": "floordiv", "remainder_integer": "remainder", "fdiv": "truediv",
    "div_rn": "truediv", "isnand": "isnan", "floor_to_int": "floor", "ceil_to_int": "ceil",
    "cast": "to_dtype", "bit_cast": "to_dtype_bitcast", "bitcast": "to_dtype_bitcast",
}  # fmt: skip
"""Functions whose name differs from the operation's."""

KNOWN = EXPECTED.keys() | frozenset().union(*STRICT.values())
"""Functions that have the operation's name."""

_OPERATORS: dict[str, str] = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod",
    "<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne", "&": "and_",
    "|": "or_", "^": "xor", "&&": "and_", "||": "or_", "?": "where",
    "<<": "bitwise_left_shift", ">>": "bitwise_right_shift",
    "u-": "neg", "u~": "bitwise_not", "u!": "logical_not",
}  # fmt: skip

_REDUCES: dict[str, str] = {
    "sum": "sum", "max2": "max", "min2": "min", "any": "any", "prod": "prod",
    "xor_sum": "xor_sum", "max_with_index": "argmax", "min_with_index": "argmin",
    "welford": "welford_combine", "welford_reduce": "welford_reduce",
    "welford_combine": "welford_reduce", "online_softmax_reduce": "online_softmax_reduce",
    "online_softmax_combine": "online_softmax_reduce",
    "maximum": "max", "minimum": "min", "max_propagate_nan": "max", "min_propagate_nan": "min",
    "max_masked_reduce": "max", "min_masked_reduce": "min", "sum_masked_reduce": "sum",
    "prod_masked_reduce": "prod", "any_masked_reduce": "any", "argmax_combine": "argmax",
    "argmin_combine": "argmin", "argmax_combine_vec": "argmax", "argmin_combine_vec": "argmin",
    "cascade_sum_combine": "sum", "maximum_with_index": "argmax", "minimum_with_index": "argmin",
    "all_reduce": "sum",
}  # fmt: skip
_REDUCING = frozenset(
    ["sum", "max2", "min2", "any", "prod", "xor_sum", "max_with_index", "min_with_index", "welford"]
)

ALIAS = "alias"
"""Repeats a value: for more lanes, in another shape, or under the loop's mask."""
# `.to(tl.float32)`, `c10::convert<float>(`, `at::vec::convert<…>(`, `static_cast<float>(tmp3)`
_CONVERTS = re.compile(
    r"\.to\(|\.to<|convert<|static_cast<[\w:]+>\(tmp|^(?:float|int64_t)\(tmp\d+\)"
)
_OWN_MASK = re.compile(r"tl\.where\((?:\w*mask\b[\s&]*)+,")
_INDEX = re.compile(r"\b[xyzr]\d+\b|\b[xyz]index\b|arange")
_INDEXED = re.compile(r"x\d")
_SUB_SHAPE = re.compile(r"tl\.full\(tmp\d+\.shape")


def operation_of(statement: Statement) -> str:
    """The operation, `alias`, `constant`, `index_expr`, or `` when unknown."""
    text = statement.text.partition("=")[2].strip()
    if statement.is_leaf:
        return "constant" if statement.literals and _plain(text) else "index_expr"
    if _SUB_SHAPE.match(text):
        return "constant"
    tags = statement.tags
    if "where" in tags and _OWN_MASK.match(text):
        return ALIAS
    spelled = _spelled_out(tags, numbers=bool(statement.literals))
    if spelled:
        return spelled
    named = sorted(_FUNCTIONS.get(tag, tag) for tag in tags if tag in _FUNCTIONS or tag in KNOWN)
    if named:
        return named[0] if len(set(named)) == 1 else next(n for n in named if n != "to_dtype")
    operators = [tag for tag in tags if tag in _OPERATORS]
    if len(operators) == 1:
        return _by_operator(operators[0], statement)
    if operators:
        return ""
    if len(statement.uses) == 1:
        return "to_dtype" if _CONVERTS.search(text) else ALIAS
    return ""


def _spelled_out(tags: Collection[str], *, numbers: bool) -> str:
    """The operation that a statement of several operators and functions computes."""
    tags = frozenset(tags)
    if "exp" in tags and tags & {"/", "+", "neg"}:
        return "sigmoid"
    if "rsqrt" in tags or ({"/", "sqrt"} <= tags and numbers):
        return "rsqrt"
    if "log1p" in tags or "expm1" in tags:
        return "log1p" if "log1p" in tags else "expm1"
    floors = "-" in tags and tags & {"div_floor_floating_vec", "div_floor_floating"}
    return "remainder" if floors or {"?", "&&", "!="} <= tags else ""


def _plain(text: str) -> bool:
    _, _, inside = text.partition("[")
    return _INDEX.search(text) is None and _INDEXED.search(inside) is None


def _by_operator(operator: str, statement: Statement) -> str:
    if len(statement.uses) == 1 and statement.literals:
        if operator == "/":
            return "reciprocal"
        if operator == "==" and statement.literals[0] == 0.0:
            return "logical_not"
        if operator == "!=" and statement.literals[0] == 0.0:
            return "to_dtype"
    return _OPERATORS[operator]


def reduction_of(statement: Statement) -> str:
    """`sum` of `tl.sum(tmp5, 1)[:, None]`; `` if it is no reduction."""
    for tag in sorted(statement.tags & _REDUCING):
        return _REDUCES[tag]
    return ""


def accumulation_of(statements: list[Statement]) -> str:
    """How the statements about one accumulator combine values."""
    tags = {tag for statement in statements for tag in statement.tags}
    for name in (
        "online_softmax_reduce", "online_softmax_combine", "welford_reduce", "welford",
        "welford_combine",
    ):  # fmt: skip
        if name in tags:
            kind = _REDUCES[name]
            return "welford_reduce" if kind == "welford_combine" else kind
    for name in sorted(tags):
        if name in _REDUCES:
            return _REDUCES[name]
    for operator, kind in (("||", "any"), ("|", "any"), ("*", "prod"), ("^", "xor_sum")):
        if operator in tags:
            return kind
    return "sum"
