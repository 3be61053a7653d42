"""Reads the pieces that the index finds, text by text, until a page is full."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import groupby
from operator import attrgetter

import msgspec
from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from inductorscope.answers.search.lines import LineHit, Patterns, cut
from inductorscope.store.contents.fulltext import PIECE_BYTES
from inductorscope.store.contents.texts import stored_text
from inductorscope.store.tables.models import TextFrame

LINES_A_TEXT = 4
"""Most lines of one text to show when several are searched."""
MOST_TEXTS = 15
"""Most texts of a page; reading each takes about a millisecond."""
LONG_LINE = 2 * PIECE_BYTES
"""Bytes of a line that count as one more piece of the budget."""
FRAMES_A_FETCH = 100
"""Pieces to fetch from the index at once."""

EXACT, WORDS = "e", "w"
"""How a cursor marks lines that contain the query literally, or its words."""

Piece = tuple[int, int]
"""First line and number of lines."""


class Read(msgspec.Struct):
    """The matches in a text, up to a number of lines of each sort."""

    exact: list[LineHit] = msgspec.field(default_factory=list)
    words: list[LineHit] = msgspec.field(default_factory=list)
    unread: int | None = None
    """The first line that was not read because the budget of pieces was used up."""


class Matches(msgspec.Struct):
    """Texts by digest, with their lines and whether there are more of them."""

    exact: bool
    cursor: str | None
    looked_at: int
    texts: list[tuple[str, list[LineHit], bool]] = msgspec.field(default_factory=list)


class MatchingTexts(msgspec.Struct):
    """Texts with lines of one sort, until the page is full."""

    limit: int
    texts: list[tuple[str, list[LineHit], bool]] = msgspec.field(default_factory=list)
    lines: int = 0
    last: int | None = None
    """The text that filled the page."""

    def add(self, number: int, digest: str, hits: list[LineHit], unread: bool) -> None:
        if not hits or self.last is not None:
            return
        shown = hits[:LINES_A_TEXT]
        self.texts.append((digest, shown, unread or len(hits) > len(shown)))
        self.lines += len(shown)
        if self.lines >= self.limit or len(self.texts) == MOST_TEXTS:
            self.last = number


class PieceReader(msgspec.Struct, eq=False):
    """Reads pieces of texts until a page is full or the budget is used up."""

    _session: Session
    _patterns: Patterns
    _matching: ColumnElement[bool]
    """The condition of the pieces."""
    _number: ColumnElement[int]
    """The column that orders them."""
    _pieces: int

    def one_text(self, mode: str | None, after: int, limit: int) -> Matches:
        """Searches the scope's only text, after a line."""
        found = next(self._texts(None), None)
        if found is None:
            return Matches(mode != WORDS, None, 0)
        _, digest, pieces = found
        read = self._read(digest, pieces, after, limit + 1)
        exact = mode == EXACT or (mode is None and bool(read.exact or not read.words))
        hits = read.exact if exact else read.words
        last = None if read.unread is None else read.unread - 1
        if len(hits) > limit:
            hits = hits[:limit]
            last = hits[-1].line
        cursor = None if last is None else f"{EXACT if exact else WORDS}{last}"
        return Matches(exact, cursor, 1, [(digest, hits, False)] if hits else [])

    def all_texts(self, mode: str | None, below: int | None, limit: int) -> Matches:
        """Searches the newest texts; `below` is the last text of the previous page."""
        exact, words = MatchingTexts(limit), MatchingTexts(limit)
        last, looked_at = None, 0
        is_rest = False
        for number, digest, pieces in self._texts(below):
            if self._pieces <= 0 or (words if mode == WORDS else exact).last is not None:
                is_rest = True
                break
            last, looked_at = number, looked_at + 1
            read = self._read(digest, pieces, 0, LINES_A_TEXT + 1)
            exact.add(number, digest, read.exact, read.unread is not None)
            words.add(number, digest, read.words, read.unread is not None)
        is_exact = mode == EXACT or (mode is None and bool(exact.texts or not words.texts))
        chosen = exact if is_exact else words
        reached = chosen.last if chosen.last is not None else last
        cursor = (
            None
            if reached is None or (reached == last and not is_rest)
            else f"{EXACT if is_exact else WORDS}{reached}"
        )
        return Matches(is_exact, cursor, looked_at, chosen.texts)

    def _texts(self, below: int | None) -> Iterator[tuple[int, str, list[Piece]]]:
        """Yields texts with matching pieces, the newest first, each with the number it is sorted
        by. The pieces of a text follow each other in the index, which is read no further than
        needed."""
        columns = TextFrame.id, TextFrame.digest, TextFrame.first_line, TextFrame.lines
        query = select(*columns).where(self._matching).order_by(self._number.desc())
        if below is not None:
            query = query.where(self._number < below)
        frames = self._session.execute(query.execution_options(yield_per=FRAMES_A_FETCH))
        with closing(frames):
            for digest, some in groupby(frames, key=attrgetter("digest")):
                pieces = [(frame.id, frame.first_line, frame.lines) for frame in some]
                pieces.reverse()
                yield pieces[0][0], digest, [(first, count) for _, first, count in pieces]

    def _read(self, digest: str, pieces: Sequence[Piece], after: int, most: int) -> Read:
        """Reads the matches in a text's matching pieces after a line, up to `most` of each sort."""
        matches = Read()
        stored = stored_text(self._session, digest)
        if stored is None:
            return matches
        for first, count in pieces:
            last = first + count - 1
            if last <= after:
                continue
            if self._pieces <= 0:
                matches.unread = max(first, after + 1)
                break
            self._pieces -= 1
            begin = max(first, after + 1)
            for number, raw in enumerate(stored.lines(begin, last), begin):
                self._match(matches, number, raw.decode("utf-8", "replace").rstrip("\r\n"), most)
                self._pieces -= len(raw) // LONG_LINE
            if len(matches.exact) >= most:
                break
        return matches

    def _match(self, matches: Read, number: int, line: str, most: int) -> None:
        spans = self._patterns.exact(line)
        if spans and len(matches.exact) < most:
            matches.exact.append(cut(number, line, spans))
        if self._patterns.words and len(matches.words) < most:
            spans = self._patterns.all_words(line)
            if spans:
                matches.words.append(cut(number, line, spans))
