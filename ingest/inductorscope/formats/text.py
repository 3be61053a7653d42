"""Shared by the readers of Inductor's texts: problems, lines, and splitting outside brackets.

Regular expressions only find the next bracket, quote or separator and never backtrack. Nesting is
counted, so every reader takes linear time on any input.
"""

import re

import msgspec

# A quoted text; one that never closes reaches to the end.
_QUOTED = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|\'[^\'\\]*+(?:\\.[^\'\\]*+)*+\'?'
# Brackets without nested brackets or quotes.
_FLAT = r"""[(\[{][^()\[\]{}"']*+[)\]}]"""
_MARK = re.compile(rf"{_QUOTED}|[()\[\]{{}}]", re.DOTALL)
_SEPARATED = {
    separator: re.compile(rf"{_FLAT}|{_QUOTED}|[()\[\]{{}}{separator}]", re.DOTALL)
    for separator in (",", ";")
}
_NESTING = re.compile(r"""[()\[\]{}"']""")


# The prefix that TORCH_LOGS prints before each line of a graph or of code.
_LOGGED = re.compile(
    r"(?:\[rank\d+\]:)?[VDIWEC]\d{4} [\d:.]+ \d+ [^\]]{1,400}:\d+\](?: \[[^\]]{1,80}\])* ?"
)
_LOGGING = "] [__"
_CELL = "\n| "
_LEVELS = frozenset("[VDIWEC")  # the first character of such a line


class Problem(msgspec.Struct, frozen=True):
    """Something that a reader could not read and skipped."""

    line: int | None
    reason: str


def split_top(text: str, separator: str = ",") -> list[str]:
    """Returns the parts of `text` between separators (`,` or `;`) outside brackets and quotes,
    stripped.

    An empty text has no parts; a trailing separator adds none.
    """
    if _NESTING.search(text) is None:
        parts = text.split(separator)
        return _stripped(parts)
    parts = []
    depth = start = 0
    for mark in _SEPARATED[separator].finditer(text):
        symbol = mark.group()
        if symbol == separator:
            if depth == 0:
                parts.append(text[start : mark.start()])
                start = mark.end()
        elif symbol in "([{":
            depth += 1
        elif symbol in ")]}" and depth:
            depth -= 1
    parts.append(text[start:])
    return _stripped(parts)


def _stripped(parts: list[str]) -> list[str]:
    if not parts[-1] or (len(parts) == 1 and not parts[0].strip()):
        parts.pop()
    return [part.strip() for part in parts]


def closing(text: str, position: int) -> int:
    """Returns the position where the bracket at `position` closes; the end of the text if it never
    does."""
    depth = 0
    for mark in _MARK.finditer(text, position):
        symbol = mark.group()
        if symbol in "([{":
            depth += 1
        elif symbol in ")]}":
            depth -= 1
            if depth <= 0:
                return mark.start()
    return len(text)


def arguments_at(text: str, opened: int) -> list[str]:
    """Returns the arguments in the bracket that opens at a position."""
    return split_top(text[opened + 1 : closing(text, opened)])


def whole_number(text: str) -> int | None:
    """Returns the number that a text is, if it consists of digits and is no longer than torch's
    numbers."""
    return int(text) if text.isdecimal() and len(text) < 19 else None


def split_flat(text: str) -> list[str]:
    """Like `split_top`, for a text known to have no brackets and no commas in quotes."""
    return _stripped(text.split(","))


def balance(text: str) -> int:
    """Returns how many brackets `text` leaves open (negative: closes more than it opens)."""
    count = text.count
    opened = count("(") + count("[") + count("{")
    return opened - count(")") - count("]") - count("}")


def call_arguments(text: str) -> tuple[str, list[str]]:
    """`f(a, b)` → (`f`, [`a`, `b`]). Without a call, the whole text is the name."""
    opened = text.find("(")
    if opened < 0:
        return text.strip(), []
    return text[:opened].strip(), arguments_at(text, opened)


def lines_of(text: str) -> list[str]:
    """Splits at newlines only and drops carriage returns, so that all line numbers agree."""
    return unix_text(text).split("\n")


def plain_lines(text: str) -> list[str]:
    """The lines without decoration: the prefix of logging, `V1121 07:03:54.1 69 a.py:7] [0/0] `, or
    the borders of a page that shows a listing as a table, `| neg = ops.neg(load) |`."""
    lines = lines_of(text)
    if _LOGGING in text:
        lines = [_LOGGED.sub("", line, count=1) if line[:1] in _LEVELS else line for line in lines]
    if _CELL in text:
        lines = [line.strip("| \t") if line[:1] == "|" else line for line in lines]
    return lines


def plain_text(text: str) -> str:
    """`plain_lines` as one text, joined by newlines."""
    around = _LOGGING in text or _CELL in text
    return "\n".join(plain_lines(text)) if around else unix_text(text)


def unix_text(text: str) -> str:
    """The text without carriage returns before newlines."""
    return text.replace("\r\n", "\n").removesuffix("\r") if "\r" in text else text
