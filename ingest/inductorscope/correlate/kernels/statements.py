"""One statement of a kernel, and the facts in its text.

Both backends name temporaries `tmp<N>` and number them in the order in which loop-body operations
are generated, which may differ from the order of lines. A statement therefore has its number, the
names it defines and uses, and tags: operators and functions, without types and casts.
"""

import re
from itertools import takewhile

import msgspec

# `tmp3`, `_tmp3`, `tmp8_mean`, `tmp17_val`
TEMPORARY = re.compile(r"\b_?tmp(\d+)(?:_(?!acc)\w+)?\b")
# `tmp_acc0`, `tmp_acc0_vec`, `masked_tmp_acc0_vec`, `tmp_acc0_local`
ACCUMULATOR = re.compile(r"\b(?:masked_|at_\w+?_)?tmp_acc(\d+)\w*")
POINTER = re.compile(
    r"\b((?:in_out|in|out)_ptr\d+|local_buffer_data_\d+|ws_ptr\d*|seed_offset\w*)\b"
)
# A type taken from a value is no use of the value: `decltype(tmp3)(…)`, `tmp6.to(tmp0.dtype)`.
_DECLTYPE = re.compile(r"decltype\([\w.]*\)|(?<=\.to\()tmp\d+\.dtype(?=\))")
# Template arguments hold no calls: `<float,1>`, `<at::vec::Vectorized<float>, 4>`.
_TEMPLATE = re.compile(r"<[\w:,\s]*>")
# From the start of a word: each word is read once.
_FUNCTION = re.compile(r"\b[^\W_A-Za-z]*+([A-Za-z_]\w*+)\(")
_OPERATOR = re.compile(
    r"(?<=[\w)\]\"]) (\+|-|\*|/|//|%|<<|>>|<=|>=|<|>|==|!=|&&|\|\||&|\||\^|\?) (?=[\w(\-~!.:])"
)
_UNARY = re.compile(r"(?:^|[(,=])\s*([-~!])\s*(?=tmp|_tmp|\()")
_LITERAL = re.compile(r"(?<![\w.\[])-?\d++(?:\.\d*+)?(?:e[+-]?\d++)?(?![\w.]*ptr)(?=[fFLlu]*\b|$)")
_SHAPE = re.compile(r"\[[^\]]*+\]?")
_CASTS = frozenset(
    [
        "to", "convert", "cast", "Vectorized", "VectorizedN", "VecMask", "broadcast_to", "arange",
        "from", "float", "double", "int64_t", "int32_t", "bool", "int16_t", "int8_t", "uint8_t",
        "static_cast", "unsqueeze", "expand_dims", "get_low_high", "cvt_lowp_fp_to_fp32",
        "cvt_fp32_to_lowp_fp", "to_float_mask",
    ]
)  # fmt: skip
_NO_FUNCTIONS = frozenset(
    [
        "static_cast", "float", "double", "int64_t", "int32_t", "int8_t", "uint8_t", "int16_t",
        "bool", "half", "decltype",
    ]
)  # fmt: skip


class Statement(msgspec.Struct):
    text: str
    """The text, without line breaks."""
    lines: list[int]
    scope: tuple[int, ...] = ()
    """The loops and lambdas around it, outermost first; values live as long as their scope."""
    number: float = -1.0
    """Its number among the temporaries; negative for statements that define none."""
    defines: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    accumulators: tuple[str, ...] = ()
    tags: frozenset[str] = frozenset()
    pointer: str = ""
    stores: bool = False
    checks: bool = False
    fills: bool = False
    """Whether it transposes a tile into memory or memory into a tile."""
    literals: tuple[float, ...] = ()
    has_inner: bool = False
    """Whether it is a lambda, whose inner statements are listed separately."""

    def shared_loops(self, scope: tuple[int, ...]) -> int:
        """The number of loops around both it and another statement."""
        both = zip(self.scope, scope, strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], both))

    @property
    def is_load(self) -> bool:
        return bool(self.pointer) and not self.stores and "bucketize_binary_search" not in self.tags

    @property
    def is_cast(self) -> bool:
        """Whether it only changes the type or shape of the one value it uses."""
        return (
            len(self.uses) == 1
            and not self.pointer
            and not self.has_inner
            and not self.accumulators
            and self.tags <= _CASTS
        )

    @property
    def is_leaf(self) -> bool:
        """Whether it computes from indices and literals only."""
        return not self.uses and not self.pointer and not self.accumulators and bool(self.defines)


def describe(statement: Statement, left: str, right: str) -> Statement:
    """Fills in the facts in the text. `left` is the target of the assignment, `right` the value."""
    plain = _DECLTYPE.sub("", right)
    bare = plain
    for _ in range(4):  # templates nest a few levels at most
        shorter = _TEMPLATE.sub("", bare)
        if shorter == bare:
            break
        bare = shorter
    statement.uses = tuple(dict.fromkeys(match.group() for match in TEMPORARY.finditer(plain)))
    pointer = POINTER.search(plain)
    statement.pointer = pointer.group(1) if pointer else ""
    tags = {match.group(1) for match in _FUNCTION.finditer(bare)} - _NO_FUNCTIONS
    if not statement.pointer:  # the operators of a load are those of its index
        tags.update(match.group(1) for match in _OPERATOR.finditer(bare))
        tags.update("u" + match.group(1) for match in _UNARY.finditer(bare))
    statement.tags = frozenset(tags)
    numbers = TEMPORARY.findall(left)
    if numbers:
        statement.number = float(min(int(number) for number in numbers))
        statement.defines = tuple(match.group() for match in TEMPORARY.finditer(left))
    names = ACCUMULATOR.findall(left + " " + right)
    statement.accumulators = tuple(dict.fromkeys(f"tmp_acc{name}" for name in names))
    statement.literals = _literals(bare)
    return statement


def _literals(bare: str) -> tuple[float, ...]:
    text = _SHAPE.sub("", bare)
    if "infinity" in text or 'float("inf' in text or 'float("-inf' in text:
        return (float("-inf") if "-" in text else float("inf"),)
    if "nan" in text.lower() and ("quiet_NaN" in text or 'float("nan' in text):
        return (float("nan"),)
    if re.search(r"\b[Tt]rue\b", text):
        return (1.0,)
    if re.search(r"\b[Ff]alse\b", text):
        return (0.0,)
    return tuple(float(match.group()) for match in _LITERAL.finditer(text))


class Block(msgspec.Struct):
    """Statements whose temporaries are numbered together."""

    numbered: list[Statement] = msgspec.field(default_factory=list)
    """Statements with temporaries, in order of their numbers."""
    others: list[Statement] = msgspec.field(default_factory=list)
    """Stores, checks and accumulations, in order of their lines."""
    again: bool = False
    """Whether it repeats the block before it for the remainder of a loop."""
