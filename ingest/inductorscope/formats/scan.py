"""What the readers of Inductor's texts share: problems, and splitting outside of brackets.

Regular expressions only ever look at one short, anchored piece of a line here. Everything nested
goes through the scanners below, so that no input can make a reader slower than linear.
"""

from __future__ import annotations

from dataclasses import dataclass

_OPEN = {"(": ")", "[": "]", "{": "}"}
_CLOSE = frozenset(_OPEN.values())
_QUOTES = frozenset("\"'")


@dataclass(frozen=True, slots=True)
class Problem:
    """Something a reader could not read; it went on without it."""

    line: int | None
    reason: str


def split_top(text: str, separator: str = ",") -> list[str]:
    """The parts of `text` between separators that stand outside brackets and quotes, stripped.

    An empty text has no parts; a trailing separator adds none.
    """
    parts: list[str] = []
    depth = 0
    start = 0
    quote = ""
    position = 0
    length = len(text)
    while position < length:
        character = text[position]
        if quote:
            if character == "\\":
                position += 1
            elif character == quote:
                quote = ""
        elif character in _QUOTES:
            quote = character
        elif character in _OPEN:
            depth += 1
        elif character in _CLOSE:
            depth = max(0, depth - 1)
        elif character == separator and depth == 0:
            parts.append(text[start:position].strip())
            start = position + 1
        position += 1
    last = text[start:].strip()
    if last or (parts and text[start:]):
        parts.append(last)
    return parts


def closing(text: str, position: int) -> int:
    """Where the bracket at `position` closes; the end of the text when it never does."""
    depth = 0
    quote = ""
    length = len(text)
    while position < length:
        character = text[position]
        if quote:
            if character == "\\":
                position += 1
            elif character == quote:
                quote = ""
        elif character in _QUOTES:
            quote = character
        elif character in _OPEN:
            depth += 1
        elif character in _CLOSE:
            depth -= 1
            if depth <= 0:
                return position
        position += 1
    return length


def balance(text: str) -> int:
    """How many brackets `text` leaves open (negative: closes more than it opens)."""
    opened = sum(text.count(character) for character in "([{")
    return opened - sum(text.count(character) for character in ")]}")


def call_arguments(text: str) -> tuple[str, list[str]]:
    """`f(a, b)` → (`f`, [`a`, `b`]); a text without a call is all name."""
    opened = text.find("(")
    if opened < 0:
        return text.strip(), []
    return text[:opened].strip(), split_top(text[opened + 1 : closing(text, opened)])


def lines_of(text: str) -> list[str]:
    """Lines as every tool here counts them: split at newlines only, carriage returns dropped."""
    return [line.removesuffix("\r") for line in text.split("\n")]
