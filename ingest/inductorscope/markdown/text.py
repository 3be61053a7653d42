"""Pieces of Markdown. Names and texts of a run are quoted so that they cannot break out."""

import re
from collections.abc import Iterable, Iterator

from inductorscope.units import THIN

_TICKS = re.compile(r"`+")
_SPACES = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]+")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Characters that would move a terminal's cursor or turn the direction of text."""
_MARKS = re.compile(r"[\\*<>\[\]`~]|_(?![^\W_])")
_BETWEEN_DIGITS = re.compile(rf"(?<=\d){THIN}(?=\d)")


def plain(figure: str) -> str:
    """Formats a figure in plain characters: `1,234 µs`."""
    return _BETWEEN_DIGITS.sub(",", figure).replace(THIN, " ").rstrip()


def code(text: object) -> str:
    """Formats a name or a line of a run as a code span."""
    line = _SPACES.sub(" ", str(text)).strip()
    if not line:
        return ""
    marks = "`" * (_longest(line) + 1)
    room = " " if line[0] == "`" or line[-1] == "`" else ""
    return f"{marks}{room}{line}{room}{marks}"


def prose(text: str) -> str:
    """Formats a sentence in which names of the program are between backticks."""
    parts = _SPACES.sub(" ", plain(text)).strip().split("`")
    if len(parts) % 2 == 0:
        return escaped("`".join(parts))
    return "".join(code(part) if at % 2 else escaped(part) for at, part in enumerate(parts))


def escaped(text: str) -> str:
    """Escapes text that Markdown should show as it is."""
    return _MARKS.sub(lambda mark: f"\\{mark[0]}", text)


def block(text: str, language: str = "") -> str:
    """Puts text between fences that are longer than any run of backticks in it."""
    fence = "`" * max(3, _longest(text) + 1)
    return f"{fence}{language}\n{_CONTROLS.sub(' ', text).rstrip()}\n{fence}"


def link(text: str, address: str) -> str:
    """Formats a link; `text` is Markdown."""
    return f"[{text}]({address})" if address else text


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """Yields the lines of a table; cells are Markdown."""
    head = list(head)
    for row in (head, ["---"] * len(head), *rows):
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


def _longest(text: str) -> int:
    """Returns the length of the longest run of backticks."""
    return max((len(run) for run in _TICKS.findall(text)), default=0)
