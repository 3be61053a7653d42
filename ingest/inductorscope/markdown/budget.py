"""Cuts a text to a number of tokens, at sensible places, and says what was left out."""

import re
from collections.abc import Callable, Mapping

BYTES_PER_TOKEN = 4
"""An estimate without a tokenizer: code and tables take slightly more tokens, prose slightly
fewer."""
ROWS = (40, 20, 10, 5, 3)
"""Limits for the rows of a list, tried in turn."""
HEAD = 2
"""Lines of a table above its rows."""
OF_BLOCK = 4
"""Lines that a block keeps for each row that a list keeps."""
LONGEST = 400
"""Characters that a line of a block keeps."""
NOTE = 80
"""Tokens kept for the note on what was left out."""
KINDS = {"|": "table", "- ": "row", "  ": "row"}
"""Beginnings of lines that count as rows."""
_FENCE = re.compile(r"(`{3,})\w*$")
_HEADING = re.compile(r"#{1,6} ")


def _kind(line: str) -> str:
    return next((kind for start, kind in KINDS.items() if line.startswith(start)), "")


def tokens(text: str) -> int:
    return -(-len(text.encode()) // BYTES_PER_TOKEN)


def fit(text: str, most: int, of_table: int | None = None) -> str:
    """Shortens a text to `most` tokens: long tables lose rows first, then the last sections are
    left out. `of_table`: most rows of a table, even if more would fit."""
    if of_table is not None:
        text = _shortened(text, {"table": of_table + HEAD})
    if tokens(text) <= most:
        return text
    sections = _sections(text)
    room = max(most - NOTE, NOTE)
    for rows in ROWS:
        lines = {"row": rows, "table": rows + HEAD, "code": rows * OF_BLOCK}
        shorter = [_shortened(section, lines) for section in sections]
        if tokens("\n".join(shorter)) <= room:
            return f"{chr(10).join(shorter).rstrip()}\n\n{_note(most, [])}"
    left_out: list[str] = []
    while len(shorter) > 1 and tokens("\n".join(shorter)) > room:
        left_out.append(shorter.pop().partition("\n")[0].lstrip("# "))
    rest = "\n".join(shorter)
    if tokens(rest) > room:
        rest = rest.encode()[: room * BYTES_PER_TOKEN].decode(errors="ignore")
        rest = _closed(rest.rpartition("\n")[0])
    return f"{rest.rstrip()}\n\n{_note(most, left_out[::-1])}"


def _note(most: int, left_out: list[str]) -> str:
    parts = f", and these parts: {', '.join(left_out)}" if left_out else ""
    return f"Left out to fit {most:,} tokens: the rows that … counts{parts}. Ask for more tokens.\n"


def _sections(text: str) -> list[str]:
    """Splits the text at headings."""
    sections: list[list[str]] = [[]]
    fence = ""
    for line in text.split("\n"):
        fence = _fence(line, fence)
        if not fence and _HEADING.match(line) and sections[-1]:
            sections.append([])
        sections[-1].append(line)
    return ["\n".join(section) for section in sections]


def _fence(line: str, fence: str) -> str:
    """Returns the fence that is open after a line."""
    if fence:
        return "" if line.strip() == fence else fence
    opened = _FENCE.match(line.strip())
    return opened[1] if opened else ""


def outside_blocks(text: str, change: Callable[[str], str]) -> str:
    """Applies a change to each line of the text outside code blocks."""
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        inside, fence = fence, _fence(line, fence)
        lines.append(line if inside or fence else change(line))
    return "\n".join(lines)


def _shortened(section: str, most: Mapping[str, int]) -> str:
    """Limits the lines in each table, list and block of a section."""
    shown: list[str] = []
    fence, kind, count, left_out = "", "", 0, 0
    for line in [*section.split("\n"), ""]:
        inside, fence = fence, _fence(line, fence)
        now = "code" if inside and fence else _kind(line)
        if now != kind:
            if left_out:
                shown.append(f"… {left_out} more {'lines' if kind == 'code' else 'rows'}")
            kind, count, left_out = now, 0, 0
        count += 1
        if count <= most.get(now, count):
            shown.append(line[:LONGEST] if now == "code" and now in most else line)
        else:
            left_out += 1
    return "\n".join(shown[:-1])


def _closed(text: str) -> str:
    fence = ""
    for line in text.split("\n"):
        fence = _fence(line, fence)
    return f"{text}\n{fence}" if fence else text
