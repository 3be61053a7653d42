"""Places for comments in `output_code.py`, their signs, and the text they can hold.

The file is Python; kernels are C++ or Python inside its strings. A comment there is part of the
string, so its text must not end the string or contain an escape.
"""

import re

_INDENT = re.compile(r"[ \t]*")
_OPENS = re.compile(r"'''|\"\"\"|/\*")
LONGEST = 300
"""The most characters of a comment's text; an FX node with many arguments has thousands."""


def plain(text: str) -> str:
    """The text without characters that could end a comment or the string around it.

    A backslash would be an escape of the string, or continue a C++ comment on the next line, as
    would its trigraph.
    """
    text = text.lstrip()[: 4 * LONGEST]
    text = "".join(letter if letter.isprintable() else " " for letter in text).strip()
    text = text.replace("\\", "/").replace("'''", "'").replace('"""', '"').replace("??/", "??")
    return text if len(text) <= LONGEST else text[: LONGEST - 2].rstrip() + " …"


def indent_of(line: str) -> str:
    match = _INDENT.match(line)
    return match.group() if match is not None else ""


def open_lines(lines: list[str], first: int, last: int) -> set[int]:
    """Lines from `first` to `last` (from 1) that allow a comment before them.

    Excludes lines that continue another one with a backslash, and lines inside a string or block
    comment of the kernel.
    """
    allowed: set[int] = set()
    closing = ""
    carried = False
    for number in range(first, last + 1):
        line = lines[number - 1]
        if not closing and not carried:
            allowed.add(number)
        carried = line.endswith("\\")
        closing = _still_open(line, closing)
    return allowed


def _still_open(line: str, closing: str) -> str:
    """The closing sign that a line leaves open: `*/` of a C++ comment, or quotes of a Python
    string."""
    at = 0
    while True:
        if closing:
            end = line.find(closing, at)
            if end < 0:
                return closing
            at = end + len(closing)
            closing = ""
            continue
        opens = _OPENS.search(line, at)
        if opens is None:
            return ""
        closing, at = opens.group(), opens.end()
        if closing == "/*":
            closing = "*/"
