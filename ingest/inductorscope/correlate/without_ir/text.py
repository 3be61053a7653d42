"""Reads the text of single statements while kernels are raised."""

import re

from inductorscope.correlate.kernels.statements import TEMPORARY, Statement
from inductorscope.formats.text import closing, split_top

_CAST = re.compile(r"static_cast<\w+>|tl\.broadcast_to")
_LONG = re.compile(r"(?<=\d)L\b")
# `.to(tl.int64)`, `c10::convert<int64_t>(`; not conversions to float32, in which bfloat16 is
# computed
_TO_WHAT = re.compile(r"(?:\.to\(tl\.|\.to<|convert<)(int\d+|uint\d+|int1|bool|float64|double)")


def dtype_of(text: str) -> str:
    match = _TO_WHAT.search(text)
    name = match.group(1) if match is not None else ""
    return {"int1": "bool", "double": "float64"}.get(name, name)


def plain_name(name: str) -> bool:
    return name.startswith("tmp") and "_" not in name


def index_of(statement: Statement) -> tuple[str, str]:
    """The index added to the pointer, and the rest of the statement."""
    text = statement.text
    start = text.find(statement.pointer)
    if start < 0:
        return "", text
    after = start + len(statement.pointer)
    if text[after : after + 1] == "[":
        end = closing(text, after)
        return _cleaned(text[after + 1 : end]), text[end + 1 :]
    if text[after : after + 3] == " + ":
        rest = text[after + 3 :]
        parts = split_top(rest[: closing(f"({rest}", 0) - 1])
        index = parts[0] if parts else ""
        return _cleaned(index), rest[len(index) :]
    return "", text[after:]


def _cleaned(index: str) -> str:
    bare = _LONG.sub("", _CAST.sub("", index)).strip()
    while bare.startswith("(") and bare.endswith(")") and closing(bare, 0) == len(bare) - 1:
        bare = bare[1:-1].strip()
    return bare


def stored_parts(statement: Statement) -> tuple[str, str]:
    """(index, name of the value) of a store."""
    index, rest = index_of(statement)
    match = TEMPORARY.search(rest)
    if match is None:  # `tmp5.store(out_ptr0 + …)`
        match = TEMPORARY.search(statement.text)
    return index, match.group() if match is not None else statement.uses[-1]
