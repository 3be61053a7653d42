"""The tags of the statements that loop-body operations are written as.

The table covers both backends, scalar and vectorised. Unlisted operations have their name as tag
(`ops.sin` → `tl_math.sin(…)`, `tmp0.sin()`, `std::sin(…)`).
"""

_TABLE: dict[str, str] = {
    "add": "+ add", "sub": "- sub", "mul": "* mul", "truediv": "/ div_rn fdiv", "div": "/ div_rn",
    "floordiv": "// / floor_divide_integral div_floor_integer div_floor_floating_vec floor "
    "div_floor_floating floordiv where ?",
    "truncdiv": "// / div_trunc trunc", "int_truediv": "/ div_rn", "div_rn": "/ div_rn",
    "to_dtype_bitcast": "bit_cast bitcast view to", "softplus": "log1p log where",
    "silu": "sigmoid exp", "log1p": "log1p log", "log2": "log2 log", "log10": "log10 log",
    "ceil": "ceil ceil_to_int", "floor": "floor floor_to_int", "ceil_to_int": "ceil ceil_to_int",
    "floor_to_int": "floor floor_to_int", "trunc_to_int": "trunc",
    "round_to_int": "round rint nearbyint lrint", "fmin": "fmin min", "fmax": "fmax max",
    "nextafter": "nextafter", "atan2": "atan2", "hypot": "hypot", "dot": "dot",
    "halide_clamp": "min max", "mod": "% fmod mod remainder remainder_integral",
    "fmod": "fmod mod %",
    "remainder": "where ? blendv % remainder remainder_integral mod div_floor_floating_vec",
    "neg": "u- neg", "square": "* square", "reciprocal": "/ reciprocal",
    "maximum": "maximum max max_propagate_nan where",
    "minimum": "minimum min min_propagate_nan where", "relu": "maximum clamp_min relu ? max *",
    "sigmoid": "sigmoid exp", "tanh": "tanh exp", "rsqrt": "rsqrt sqrt", "sqrt": "sqrt sqrt_rn",
    "pow": "pow", "fma": "fma fmadd", "where": "where ? blendv set", "lt": "<", "le": "<=",
    "gt": ">", "ge": ">=", "eq": "==", "ne": "!=", "and_": "& &&", "bitwise_and": "& &&",
    "logical_and": "& &&", "or_": "| ||", "bitwise_or": "| ||", "logical_or": "| ||", "xor": "^",
    "bitwise_xor": "^", "logical_xor": "^ !=", "logical_not": "== u~ u! not",
    "bitwise_not": "u~ not", "bitwise_left_shift": "<< shift_left",
    "bitwise_right_shift": ">> shift_right", "isnan": "isnan != isnand", "isinf": "isinf",
    "sign": "sign - where ? blendv", "trunc": "trunc", "round": "nearbyint round rint",
    "abs": "abs fabs", "erf": "erf", "rand": "rand normalized_rand_cpu", "randn": "randn randn_cpu",
    "randint64": "randint64 randint64_cpu", "sort": "sort_with_index sort",
    "scan": "associative_scan exclusive_scan_decoupled_lookback",
    "bucketize": "bucketize_binary_search bucketize", "signbit": "signbit", "copysign": "copysign",
    "log": "log", "expm1": "expm1 exp", "exp": "exp", "exp2": "exp2",
}  # fmt: skip

EXPECTED: dict[str, frozenset[str]] = {name: frozenset(v.split()) for name, v in _TABLE.items()}

# Written in several steps, with arbitrary statements before the last one.
SEVERAL_STEPS = frozenset(
    [
        "remainder", "set_indirect", "sort", "scan", "rand", "randn", "randint64", "bucketize",
        "floordiv", "sign", "frexp", "sigmoid",
    ]
)  # fmt: skip

EXTENDED = frozenset(["remainder", "floordiv"])
"""Operations whose first step may look complete although corrections follow."""


def expected(op: str) -> frozenset[str]:
    tags = EXPECTED.get(op)
    return tags if tags is not None else frozenset((op, op.rstrip("_")))
