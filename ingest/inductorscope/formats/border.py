"""The border: limits that figures and texts of files keep before anything computes with them.

A figure that is not finite, or larger than any of its kind, is dropped; a character that no
encoding can store is replaced. Both are counted by reason.
"""

import json
import re
from collections import Counter
from typing import Any, NamedTuple, TypeVar

import msgspec

Read = TypeVar("Read")
Struct = TypeVar("Struct", bound=msgspec.Struct)

ABSURD = "a figure that is not finite, or larger than any of its kind, was left out"
UNENCODABLE = "a text with half a surrogate pair, which was replaced"

YEAR_S = 366 * 24 * 3600.0
LATEST_US = 1e17
"""A moment after the year 5000, in µs since 1970."""


class Kind(NamedTuple):
    """A kind of figure, by the names of fields that hold one."""

    names: re.Pattern[str]
    least: float
    most: float


KINDS = (
    # Identifiers, addresses and clocks in nanoseconds; values and bounds of symbols, and shapes,
    # which can have bounds of symbols in them.
    Kind(
        re.compile(
            r"(?:^|[_ ])(?:ids?|pid|tid|thread|addr|address|ptr|pointer|hash|key|seed|correlation|"
            r"values?|val|hint|least|lower|upper|min|max|sizes?|strides?|shapes?|offset)$|_ns$",
            re.I,
        ),
        -(2.0**64), 2.0**64,
    ),
    Kind(
        re.compile(r"^(?:ts|time|timestamp|(?:start|end)_(?:time|us|time_us))$"),
        -LATEST_US, LATEST_US,
    ),
    Kind(re.compile(r"(?:^|_|first)line(?:no)?$"), 0, 2.0**31),
    Kind(re.compile(r"flops?$|_per_s$"), 0, 1e18),
    Kind(re.compile(r"_us$"), -YEAR_S * 1e6, YEAR_S * 1e6),
    Kind(re.compile(r"(?:^|_)ms$"), -YEAR_S * 1e3, YEAR_S * 1e3),
    Kind(re.compile(r"_s$|seconds$"), -YEAR_S, YEAR_S),
    Kind(re.compile(""), -(2.0**53), 2.0**53),
)  # fmt: skip
"""The first kind whose pattern is found in a name counts; the last is a count of anything."""

_ALIKE = bytes.maketrans(b"123456789DE:,[", b"000000000de   ")
_SIGNS = (b" -0", b" 00000000", b"NaN", b"Infinity", b"\\ud")
_EXPONENT = re.compile(rb"0e\+?00+[ }\]\s]")
"""What figures and texts look like that may not pass, once all digits are 0."""
_limits: dict[str, tuple[float, float]] = {}
MOST_NAMES = 10_000
LONGEST_NAME = 100
"""The end of a name tells its kind."""


def is_within(name: str, value: float) -> bool:
    """Whether a figure is within the limits of its kind."""
    name = name[-LONGEST_NAME:]
    limits = _limits.get(name)
    if limits is None:
        kind = next(kind for kind in KINDS if kind.names.search(name))
        limits = kind.least, kind.most
        if len(_limits) < MOST_NAMES:
            _limits[name] = limits
    return limits[0] <= value <= limits[1]


def figure(value: object, name: str = "") -> float | None:
    """Returns a figure as a number; None for anything else, and beyond the limits of its kind."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if is_within(name, value) else None


def is_suspect(data: bytes) -> bool:
    """Whether JSON may hold something that does not pass. Quick, since almost none does."""
    plain = data.translate(_ALIKE)
    for sign in _SIGNS:  # a loop is faster than any()
        if sign in plain:
            return True
    return b"0e" in plain and _EXPONENT.search(plain) is not None


def read_json(data: bytes | str, left_out: Counter[str] | dict[str, int]) -> Any:  # noqa: ANN401  # JSON
    """Decodes JSON, also with NaN and control characters in it. Raises ValueError if it is not
    JSON, and RecursionError if it is nested too deeply."""
    try:
        value = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        plain = data if isinstance(data, str) else data.decode("utf-8", "replace")
        value = json.loads(plain, strict=False, parse_int=_whole)
    return admit(value, left_out)


def read_object(
    data: bytes | str, left_out: Counter[str] | dict[str, int]
) -> dict[str, Any] | None:
    """Decodes a JSON object; returns None for anything else."""
    try:
        value = read_json(data, left_out)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def read_as(data: bytes | str, kind: type[Read], left_out: Counter[str] | dict[str, int]) -> Read:
    """Decodes JSON of a known form. Raises ValueError, or RecursionError."""
    return msgspec.convert(read_json(data, left_out), kind)


def admit(
    value: Any,  # noqa: ANN401  # JSON
    left_out: Counter[str] | dict[str, int],
    name: str = "",
    *,
    figures: bool = True,
) -> Any:  # noqa: ANN401  # JSON
    """Returns JSON within the limits. An object lacks the keys of figures that are left out; in
    lists they are None. Without `figures`, only texts are looked at."""
    if isinstance(value, str):
        return _text(value, left_out)
    if isinstance(value, dict):
        return {
            _text(key, left_out): item
            for key, given in value.items()
            for item in (admit(given, left_out, key, figures=figures),)
            if item is not None or given is None
        }
    if isinstance(value, list):
        return [admit(item, left_out, name, figures=figures) for item in value]
    if not figures or value is None or isinstance(value, bool) or is_within(name, value):
        return value
    left_out[ABSURD] = left_out.get(ABSURD, 0) + 1
    return None


def within(records: list[Struct], left_out: Counter[str]) -> list[Struct]:
    """Returns records within the limits: figures that may be missing are taken out of them, and
    records that need theirs are left out."""
    return [record for record in records if _is_kept(record, left_out)]


def _is_kept(record: msgspec.Struct, left_out: Counter[str]) -> bool:
    kept = True
    for field in msgspec.structs.fields(record):
        value = getattr(record, field.name)
        if isinstance(value, list) and value and isinstance(value[0], msgspec.Struct):
            value[:] = within(value, left_out)
        elif isinstance(value, msgspec.Struct):
            kept = _is_kept(value, left_out) and kept
        elif isinstance(value, dict):
            setattr(record, field.name, admit(value, left_out))
        elif isinstance(value, int | float) and not is_within(field.name, value):
            left_out[ABSURD] += 1
            if field.default is not None:
                return False
            setattr(record, field.name, None)
    return kept


def _text(value: str, left_out: Counter[str] | dict[str, int]) -> str:
    if value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        left_out[UNENCODABLE] = left_out.get(UNENCODABLE, 0) + 1
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def _whole(digits: str) -> int | float:
    return int(digits) if len(digits) < 1000 else float(digits)
