"""Rewrites a line of a kernel without its operation, to measure what the operation costs."""

import re

from msgspec.structs import replace

from inductorscope.analyze.benchmark.case import KernelCase, NoCase
from inductorscope.formats.text import closing

_ASSIGNS = re.compile(r"(\s*(?:auto )?tmp\d{1,6} = )(\S.{0,2000}?)(;?)$")
_STORES = re.compile(
    r"(\s*)(?:(tl\.(?:store|atomic_\w{1,9})\()|tmp\d{1,6}\.store\((?:in_)?out_ptr"
    r"|(?:in_)?out_ptr\d{1,6}\[static_cast<)"
)
_LOAD = re.compile(r"tl\.load\((\w{1,100}) \+ (?=\()")
_VECTOR = re.compile(
    r"(at::vec::VectorizedN?<[\w:, ]{1,60}>)::loadu\(\w{1,100} \+ static_cast<int64_t>(?=\()"
)
_ELEMENT = re.compile(r"(\w{1,100})\[static_cast<int64_t>(?=\()")
_OPERAND = re.compile(r"(?<!\w)tmp\d{1,6}(?!\w)")
_OF_TYPE = re.compile(r"decltype\(\w{1,100}\)")
# Comparisons, conversions, choices, reductions: the type or shape of their value differs from their
# operand's.
_OTHERWISE = re.compile(
    r" (?:[<>]=?|[=!]=) |\?|Vectorized|VecMask|convert|\bcast\b|\.to[(<]|tl\.where\(tmp|\[&\]|\[:"
    r"|\[None|rand|welford|reduce|logical|signbit|isnan|isinf|isfinite"
    r"|tl\.(?:sum|max|min|full|broadcast_to|reshape|join|cat|dot|associative_scan)"
    r"|triton_helpers\.\w{1,40}2\("
)


def without(line: str) -> str:
    """Rewrites a line: an operation becomes its first operand, a load becomes its index, and a
    store is left out. Empty if that is impossible, because the replacement must have the same type
    and shape."""
    store = _STORES.match(line)
    if store is not None:
        return store.group(1) + ("pass" if store.group(2) else ";")
    found = _ASSIGNS.match(line)
    if found is None:
        return ""
    head, value, end = found.groups()
    instead = _instead_of_load(value)
    if instead is None:
        operand = None if _OTHERWISE.search(value) else _OPERAND.search(_OF_TYPE.sub("", value))
        instead = "" if operand is None or operand.group() == value else operand.group()
    return f"{head}{instead}{end}" if instead else ""


def _instead_of_load(value: str) -> str | None:
    """Returns None if it is not a load; empty if it is a load at a constant place, or one with a
    vector mask."""
    for pattern, made in (
        (_LOAD, "{index}.to({of}.dtype.element_ty){rest}"),
        (_VECTOR, "{of}{index}"),
        (_ELEMENT, "std::decay_t<decltype(*{of})>{index}"),
    ):
        found = pattern.match(value)
        if found is not None:
            index = value[found.end() : closing(value, found.end()) + 1]
            rest = value[closing(value, value.find("[" if pattern is _ELEMENT else "(")) + 1 :]
            varies = any(map(str.islower, index.replace("static_cast<int64_t>", "")))
            if not varies or (rest and pattern is not _LOAD):
                return ""
            return made.format(of=found.group(1), index=index, rest=rest)
    return None


def case_without(case: KernelCase, line: int) -> tuple[KernelCase, str, str]:
    """Returns the test case without the operation of a line of the output code, that line before,
    and after. Raises NoCase."""
    at = line - case.first
    was = case.definition[at] if 0 <= at < len(case.definition) else ""
    instead = without(was)
    if not instead:
        raise NoCase(f"Line {line} of the output code has no operation that can be left out.")
    definition = [*case.definition[:at], instead, *case.definition[at + 1 :]]
    return replace(case, definition=definition), was.strip(), instead.strip()
