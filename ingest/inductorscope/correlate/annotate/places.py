"""Where in `output_code.py` a comment may stand, with what sign, and what text it can hold.

The file is Python; kernels lie inside its strings and are C++ or Python themselves. A comment there
is part of the string, so its text must neither end the string nor carry an escape.
"""

from __future__ import annotations

import re

from inductorscope.formats.code.output_code import CodeKernel, OutputCode

_INDENT = re.compile(r"[ \t]*")
_TRIPLE = re.compile(r"'''|\"\"\"")
LONGEST = 300
"""Characters of a comment's text; an FX node of many arguments has thousands."""


def plain(text: str) -> str:
    """The text without anything that could end a comment or the string around it.

    A backslash would be an escape of the string, or carry a C++ comment on to the next line, as
    the trigraph for it would.
    """
    text = "".join(letter if letter.isprintable() else " " for letter in text).strip()
    text = text.replace("\\", "/").replace("'''", "'").replace('"""', '"').replace("??/", "??")
    return text if len(text) <= LONGEST else text[: LONGEST - 2].rstrip() + " …"


def indent_of(line: str) -> str:
    match = _INDENT.match(line)
    return match.group() if match is not None else ""


def file_sign(code: OutputCode) -> str:
    """What starts a comment outside of kernels: AOTInductor's whole text is C++."""
    return "//" if code.cpp else "#"


def kernel_sign(kernel: CodeKernel) -> str:
    return "//" if kernel.kind == "cpp" else "#"


def open_lines(lines: list[str], first: int, last: int) -> set[int]:
    """Lines from `first` to `last` (from 1) before which a comment may stand.

    Not where the line before is carried on by a backslash, nor inside a string or block comment
    of the kernel itself.
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
    """What a line leaves open: `*/` of a C++ comment, or the quotes of a Python string."""
    at = 0
    while True:
        if closing:
            found = line.find(closing, at)
            if found < 0:
                return closing
            at = found + len(closing)
            closing = ""
            continue
        quotes = _TRIPLE.search(line, at)
        comment = line.find("/*", at)
        if comment >= 0 and (quotes is None or comment < quotes.start()):
            closing, at = "*/", comment + 2
        elif quotes is not None:
            closing, at = quotes.group(), quotes.end()
        else:
            return ""
