"""Makes values from hostile files storable in both databases.

PostgreSQL refuses NUL in text, neither database takes lone surrogates or numbers beyond 64 bits,
and JSON has no NaN. Each is replaced by something a person can recognise; none is dropped.
"""

import math
from typing import Any

import msgspec

JsonObject = dict[str, Any]

LARGEST = 2**63 - 1
REPLACEMENT = "\ufffd"


def text(value: str) -> str:
    """Replaces characters that cannot be stored by U+FFFD."""
    if "\x00" in value:
        value = value.replace("\x00", REPLACEMENT)
    if not value.isascii():
        value = value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return value


def whole(value: int) -> int:
    """Limits a number to 64 bits."""
    return max(-LARGEST, min(LARGEST, value))


def number(value: float | None) -> float | None:
    """Returns the number, or None for NaN and infinities."""
    return value if value is not None and math.isfinite(value) else None


def plain(value: object) -> object:
    """Makes a JSON-like value storable, to any depth that the parsers produce."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return whole(value)
    if isinstance(value, float):
        return number(value)
    if isinstance(value, dict):
        return {text(str(key)): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, msgspec.Struct):
        return plain(msgspec.to_builtins(value))
    return value


def json_text(value: object) -> str:
    """Encodes JSON for a column; NaN becomes null."""
    try:
        return msgspec.json.encode(value).decode()
    except (UnicodeEncodeError, OverflowError):
        return msgspec.json.encode(plain(value)).decode()
