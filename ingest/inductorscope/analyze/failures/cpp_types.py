"""Types in C++ kernels: the type that a definition's value has, and the one it should have.

Only plain expressions are typed; everything else stays unknown rather than guessed.
"""

import re

from inductorscope.formats.text import closing, split_top

_DTYPES = {
    "u8": ("unsigned char", "uint8_t", "c10::uint8_t"),
    "i8": ("signed char", "int8_t", "char"),
    "u16": ("unsigned short", "uint16_t", "short unsigned int"),
    "i16": ("short", "int16_t", "short int"),
    "u32": ("unsigned int", "uint32_t", "unsigned"),
    "i32": ("int", "int32_t"),
    "u64": ("unsigned long", "uint64_t", "long unsigned int", "long long unsigned int",
            "unsigned long long", "size_t"),
    "i64": ("long", "long int", "int64_t", "long long", "long long int"),
    "f32": ("float",),
    "f64": ("double",),
    "b8": ("bool",),
    "bf16": ("BFloat16", "bfloat16"),
    "f16": ("Half", "half"),
    "c64": ("complex<float>",),
    "c128": ("complex<double>",),
}  # fmt: skip
_BY_NAME = {name: dtype for dtype, names in _DTYPES.items() for name in names}
_NARROW = ("u8", "i8", "u16", "i16", "b8")
_RANK = ("i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64")
_WRAPPED = re.compile(r"^(?:at::vec::)?(?:\w+::)*Vectorized(?:N|Mask)?<(.*)>$")
_SCOPE = re.compile(r"\b(?:c10|at|std)::")
_POINTER = re.compile(r"(?:const )?([\w:<> ]{1,60}?) ?\* ?(?:__restrict__ )?(\w+) ?[,)]")
_DEFINITION = re.compile(
    r"\s*+(?:const\s++)?(?:auto|[\w:]++(?:<[\w:<>, ]*>)?)\s++(\w++)\s*+=\s*+(.*)$"
)
NAME = re.compile(r"\b(?:tmp|x)\d+(?:_\w+)?\b|\btmp\w*\b")
_CAST = re.compile(r"^(?:static_cast|c10::convert|at::vec::convert|to_float)<([^<>]*(?:<[^<>]*>)?)")
_DECLTYPE = re.compile(r"^decltype\((\w+)\)\(")
_LOADED = re.compile(r"^(\w+_ptr\d+)\[")
_UNARY = re.compile(r"^[-+~]\s*(\w+)$")
_BINARY = re.compile(r"^(\w+)\s*(\+|-|\*|/|%|&|\||\^|<<|>>|<=|>=|==|!=|<|>|&&|\|\|)\s*(\w+)$")
_MOST_BRACKETS = 20
"""Brackets around an expression that are taken off; Inductor writes two or three."""
_COMPARISONS = ("<=", ">=", "==", "!=", "<", ">", "&&", "||")


def definition(line: str) -> tuple[str, str] | None:
    """The name and the expression of `auto tmp2 = -tmp1;`; None for other lines."""
    match = _DEFINITION.match(line)
    return (match[1], match[2].rstrip().removesuffix(";")) if match is not None else None


def dtype_of(written: str) -> str:
    """`u8` for `const unsigned char&`, also inside a vector; empty for other types."""
    text = written.strip().removeprefix("const ").rstrip("&* ").removesuffix(" const").strip()
    vector = _WRAPPED.match(text)
    if vector is not None:
        text = split_top(vector.group(1))[0] if vector.group(1) else ""
    return _BY_NAME.get(_SCOPE.sub("", text).strip(), "")


def pointers(lines: list[str]) -> dict[str, str]:
    """Parameter of the kernel → dtype it points to."""
    head = " ".join(" ".join(lines[:80]).split())
    brace = head.find("{")
    return {
        name: dtype_of(written)
        for written, name in _POINTER.findall(head[: brace if brace >= 0 else len(head)])
    }


def promoted(*dtypes: str) -> str:
    """Result dtype of an operation on these in C++: narrow integers become int."""
    if not all(dtypes):
        return ""
    wide = ["i32" if dtype in _NARROW else dtype for dtype in dtypes]
    if any(dtype not in _RANK for dtype in wide):
        return wide[0] if len(set(wide)) == 1 else ""
    return max(wide, key=_RANK.index)


def inferred(expression: str, known: dict[str, str]) -> str:
    """The dtype of an expression, given the dtypes of names; empty if unknown."""
    text = expression.strip()
    for _ in range(_MOST_BRACKETS):
        if not text.startswith("(") or closing(text, 0) != len(text) - 1:
            break
        text = text[1:-1].strip()
    if text in known:
        return known[text]
    for pattern in (_CAST, _DECLTYPE, _LOADED):
        match = pattern.match(text)
        if match is not None:
            return dtype_of(match.group(1)) if pattern is _CAST else known.get(match.group(1), "")
    unary = _UNARY.match(text)
    if unary is not None:
        return promoted(known.get(unary.group(1), ""))
    binary = _BINARY.match(text)
    if binary is None:
        return ""
    left, operator, right = binary.groups()
    if operator in _COMPARISONS:
        return "b8"
    return promoted(known.get(left, ""), known.get(right, ""))


def allowed(dtype: str) -> set[str]:
    """Dtypes that a node's value may have in a kernel: half precision is computed in float."""
    return {dtype, "f32"} if dtype in ("bf16", "f16") else {dtype}
