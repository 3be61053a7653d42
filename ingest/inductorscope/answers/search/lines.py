"""Finds the lines that match a search, and cuts them to fit on a page. Pure."""

from __future__ import annotations

import re
from itertools import islice

import msgspec

from inductorscope.fields import Hidden

SHOWN_BEFORE, SHOWN = 48, 220
"""Characters shown of a long line: before the first match, and in total."""
MOST_MARKS = 20

Span = tuple[int, int]


class LineHit(msgspec.Struct, frozen=True):
    """A line that matches."""

    line: int
    text: str
    """The line, or the part of a long one around the first match."""
    marks: Hidden[list[Span]]
    """Where in `text` the matches begin and end, in characters."""


class Patterns(msgspec.Struct, frozen=True):
    """Patterns to search a line for, ignoring case."""

    literal: re.Pattern[str]
    words: list[re.Pattern[str]]
    """The words of a search with several words."""

    @classmethod
    def of(cls, q: str) -> Patterns:
        parts = q.split() if len(q.split()) > 1 else []
        words = [re.compile(re.escape(part), re.IGNORECASE) for part in parts]
        return cls(re.compile(re.escape(q), re.IGNORECASE), words)

    def exact(self, line: str) -> list[Span]:
        return _spans(self.literal, line)

    def all_words(self, line: str) -> list[Span]:
        """Returns the spans of all words if the line contains every one of them, in any order."""
        spans: list[Span] = []
        for word in self.words:
            matches = _spans(word, line)
            if not matches:
                return []
            spans += matches
        return _joined(spans)


def _spans(pattern: re.Pattern[str], line: str) -> list[Span]:
    """Returns the first matches only, because a long line may have millions."""
    return [match.span() for match in islice(pattern.finditer(line), MOST_MARKS)]


def _joined(spans: list[Span]) -> list[Span]:
    """Sorts spans and merges overlapping ones."""
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def cut(number: int, line: str, spans: list[Span]) -> LineHit:
    """Returns the line to show: without indentation; a long line is cut to the part around its
    first match."""
    first = spans[0][0]
    begin = len(line) - len(line.lstrip())
    if first - begin > SHOWN - SHOWN_BEFORE:
        begin = first - SHOWN_BEFORE
    end = min(begin + SHOWN, len(line))
    head = "…" if line[:begin].strip() else ""
    tail = "…" if line[end:].strip() else ""
    moved = len(head) - begin
    marks = [
        (start + moved, min(stop, end) + moved)
        for start, stop in spans[:MOST_MARKS]
        if begin <= start < end
    ]
    return LineHit(number, f"{head}{line[begin:end].rstrip()}{tail}", marks)
