"""Arguments of several calls, in the form that a user types: `x=(8,128),(8,129);flag=1,0`.

Each argument lists a shape or a number for every call. One with a single value has it in all calls.
"""

import ast
import re

import msgspec

Value = tuple[int, ...] | int | float | bool
MOST_CALLS = 1000
LONGEST = 20_000
LARGEST = 2**40

_NAMED = re.compile(r"\s*([^\W\d]\w{0,200})\s*=")


class CallShapes(msgspec.Struct, frozen=True):
    """The arguments of each call; empty with a problem if the text cannot be read."""

    calls: list[dict[str, Value]] = msgspec.field(default_factory=list)
    problem: str = ""
    """A sentence."""


def read_shapes(text: str) -> CallShapes:
    if len(text) > LONGEST:
        return CallShapes(problem=f"The list of shapes is longer than {LONGEST:,} characters.")
    named: dict[str, list[Value]] = {}
    for part in filter(str.strip, text.split(";")):
        match = _NAMED.match(part)
        values = _values(part[match.end() :]) if match else []
        if match is None or not values:
            return CallShapes(
                problem=f"{part.strip()[:80]!r} cannot be read; write x=(8,128),(8,129)."
            )
        named[match.group(1)] = values
    counts = {len(values) for values in named.values()} - {1}
    calls = max(counts, default=1 if named else 0)
    if len(counts) > 1 or calls > MOST_CALLS:
        listed = ", ".join(f"{name} {len(values)}" for name, values in named.items())
        return CallShapes(
            problem="Each argument has a value for all calls, or one for each of up to "
            f"{MOST_CALLS:,}; here they have {listed[:200]}."
        )
    return CallShapes(
        [
            {name: values[at if len(values) > 1 else 0] for name, values in named.items()}
            for at in range(calls)
        ]
    )


def _values(text: str) -> list[Value]:
    """Reads values; empty if any of them is neither a shape nor a number."""
    try:
        read = ast.literal_eval(f"[{text.strip()}]")
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return []
    return read if all(map(_is_value, read)) else []


def _is_value(value: object) -> bool:
    if isinstance(value, tuple):
        return all(type(size) is int and 0 <= size <= LARGEST for size in value)
    return isinstance(value, int | float) and abs(value) <= LARGEST


def shape_text(values: dict[str, Value]) -> str:
    """`x=(8,128) flag=1`."""
    return " ".join(f"{name}={value}".replace(", ", ",") for name, value in values.items())
