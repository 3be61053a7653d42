"""Search in code: lines of stored texts that hold what was asked for, newest texts first.

The index knows which pieces of texts hold all words; the lines are looked for in the pieces
themselves. A text that several runs or graphs hold is looked at once. Work is bounded: after so
many lines found or pieces read the rest is left to the next page.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import ColumnElement, func, select, text
from sqlalchemy.orm import Session

from ...stages import STAGES
from ..fulltext import ROLES, matching_pieces, matching_pieces_postgresql, words_of
from ..models import Artifact, TextFrame
from ..texts import stored_text
from .search_lines import LineHit, Patterns, cut
from .search_places import LinePlace, TextPlaces, place_lines, places_of


@dataclass(frozen=True, slots=True)
class RoleTitle:
    """A kind of text, for a list to choose from."""

    role: str
    title: str


LIMIT = 200
"""Lines of one page."""
LINES_A_TEXT = 10
"""Lines shown of one text while others wait; all of them when only that text is searched."""
MOST_PIECES = 400
"""Pieces of texts that are read for one page."""
ASKED_AT_ONCE = 50
"""Texts whose pieces are asked for together."""
SHORTEST = 2
"""Letters and digits that a search needs."""

TITLES: dict[str, str] = {
    **{stage.role: stage.title for stage in STAGES if stage.whole},
    "kernel_stacks": "Stacks of kernels",
}
"""How the kinds of text that can be searched are called."""
CHOICES = [RoleTitle(role, title) for role, title in TITLES.items() if role in ROLES]
ORDER = {stage.role: at for at, stage in enumerate(STAGES)}
EXACT, WORDS = "e", "w"
CURSOR = "[ew][0-9]{1,15}"

_Piece = tuple[int, int]
"""First line and number of lines."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Which texts are searched."""

    run: str | None = None
    role: str | None = None
    file: int | None = None
    """One stored file, of which every line found is shown."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A line, and where in the explorer it is."""

    line: int
    text: str
    marks: list[tuple[int, int]]
    place: LinePlace


@dataclass(frozen=True, slots=True)
class TextHits:
    """What was found in one text."""

    places: TextPlaces
    hits: list[Hit]
    more: bool
    """Whether the text holds further lines."""


@dataclass(frozen=True, slots=True)
class CodePage:
    """A page of what was found in texts."""

    texts: list[TextHits] = field(default_factory=list)
    exact: bool = True
    """False when no line holds what was asked for as it stands: these hold all its words."""
    next_cursor: str | None = None
    looked_at: int = 0
    """Texts that were read for this page."""


def too_short(q: str) -> bool:
    """Whether there is too little to look for: the index knows letters and digits only."""
    return sum(len(word) for word in words_of(q)) < SHORTEST


def search_code(
    session: Session,
    q: str,
    scope: Scope | None = None,
    cursor: str | None = None,
    limit: int = LIMIT,
    pieces: int = MOST_PIECES,
) -> CodePage:
    """Lines that hold `q`. Raises ValueError for a cursor that is none."""
    q = q.strip()
    if cursor is not None and not re.fullmatch(CURSOR, cursor):
        raise ValueError("not a cursor of a search")
    mode, at = (cursor[0], int(cursor[1:])) if cursor else (None, None)
    if too_short(q):
        return CodePage()
    scope = scope or Scope()
    look = _Look(session, Patterns.of(q), _matching(session, q, scope), pieces)
    if scope.file is not None:
        found = look.in_one(mode, at or 0, limit)
    else:
        found = look.in_all(mode, at, limit)
    return CodePage(_texts(session, found, scope), found.exact, found.cursor, found.looked_at)


def _matching(session: Session, q: str, scope: Scope) -> ColumnElement[bool]:
    """Pieces that hold all words and are of the scope."""
    postgresql = session.get_bind().dialect.name == "postgresql"
    sql, given = (matching_pieces_postgresql if postgresql else matching_pieces)(words_of(q))
    roles = [scope.role] if scope.role else sorted(ROLES)
    artifact = select(Artifact.id).where(
        Artifact.digest == TextFrame.digest, Artifact.role.in_(roles)
    )
    if scope.run:
        artifact = artifact.where(Artifact.run_id == scope.run)
    if scope.file is not None:
        artifact = artifact.where(Artifact.id == scope.file)
    return TextFrame.id.in_(text(sql).bindparams(**given)) & artifact.exists()


@dataclass(slots=True)
class _Read:
    """What a text holds, up to so many lines of each sort."""

    exact: list[LineHit] = field(default_factory=list)
    words: list[LineHit] = field(default_factory=list)
    unread: int | None = None
    """The line from which on it was not read, for want of pieces."""


@dataclass(slots=True)
class _Found:
    """Texts by digest, with their lines and whether there are more of them."""

    exact: bool
    cursor: str | None
    looked_at: int
    texts: list[tuple[str, list[LineHit], bool]] = field(default_factory=list)


@dataclass(slots=True)
class _Sort:
    """Texts that hold lines of one sort, until there are enough."""

    limit: int
    texts: list[tuple[str, list[LineHit], bool]] = field(default_factory=list)
    lines: int = 0
    last: int | None = None
    """The text after which there were enough."""

    def add(self, number: int, digest: str, hits: list[LineHit], unread: bool) -> None:
        if not hits or self.last is not None:
            return
        shown = hits[:LINES_A_TEXT]
        self.texts.append((digest, shown, unread or len(hits) > len(shown)))
        self.lines += len(shown)
        if self.lines >= self.limit:
            self.last = number


class _Look:
    """Reads pieces of texts until a page is full or enough was read."""

    def __init__(
        self, session: Session, patterns: Patterns, matching: ColumnElement[bool], pieces: int
    ) -> None:
        self._session = session
        self._patterns = patterns
        self._matching = matching
        self._pieces = pieces

    def in_one(self, mode: str | None, after: int, limit: int) -> _Found:
        """Lines of the scope's only text that come after a line."""
        digest = self._session.scalar(select(TextFrame.digest).where(self._matching).limit(1))
        if digest is None:
            return _Found(mode != WORDS, None, 0)
        read = self._read(digest, self._pieces_of([digest])[digest], after, limit + 1)
        exact = mode == EXACT or (mode is None and bool(read.exact or not read.words))
        hits = read.exact if exact else read.words
        last = None if read.unread is None else read.unread - 1
        if len(hits) > limit:
            hits = hits[:limit]
            last = hits[-1].line
        cursor = None if last is None else f"{EXACT if exact else WORDS}{last}"
        return _Found(exact, cursor, 1, [(digest, hits, False)] if hits else [])

    def in_all(self, mode: str | None, below: int | None, limit: int) -> _Found:
        """Lines of the newest texts; `below` is the last text of the page before."""
        exact, words = _Sort(limit), _Sort(limit)
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
        return _Found(is_exact, cursor, looked_at, chosen.texts)

    def _texts(self, below: int | None) -> Iterator[tuple[int, str, list[_Piece]]]:
        """Texts with matching pieces, the newest first, each with the number it is ordered by."""
        first = func.min(TextFrame.id)
        query = select(first, TextFrame.digest).where(self._matching).group_by(TextFrame.digest)
        if below is not None:
            query = query.having(first < below)
        # Each text takes at least one piece.
        rows = self._session.execute(query.order_by(first.desc()).limit(self._pieces + 1)).all()
        for start in range(0, len(rows), ASKED_AT_ONCE):
            some = rows[start : start + ASKED_AT_ONCE]
            pieces = self._pieces_of([digest for _, digest in some])
            for number, digest in some:
                yield number, digest, pieces[digest]

    def _pieces_of(self, digests: Sequence[str]) -> Mapping[str, list[_Piece]]:
        """Matching pieces of texts in their order; of several texts at once, since the index is
        asked anew each time."""
        query = (
            select(TextFrame.digest, TextFrame.first_line, TextFrame.lines)
            .where(self._matching, TextFrame.digest.in_(digests))
            .order_by(TextFrame.first_line)
        )
        found: dict[str, list[_Piece]] = defaultdict(list)
        for digest, first, count in self._session.execute(query):
            found[digest].append((first, count))
        return found

    def _read(self, digest: str, pieces: Sequence[_Piece], after: int, most: int) -> _Read:
        """Lines of a text's matching pieces after a line, up to `most` of each sort."""
        found = _Read()
        stored = stored_text(self._session, digest)
        if stored is None:
            return found
        for first, count in pieces:
            last = first + count - 1
            if last <= after:
                continue
            if self._pieces <= 0:
                found.unread = max(first, after + 1)
                break
            self._pieces -= 1
            begin = max(first, after + 1)
            for number, raw in enumerate(stored.lines(begin, last), begin):
                self._look(found, number, raw.decode("utf-8", "replace").rstrip("\r\n"), most)
            if len(found.exact) >= most:
                break
        return found

    def _look(self, found: _Read, number: int, line: str, most: int) -> None:
        spans = self._patterns.exact(line)
        if spans and len(found.exact) < most:
            found.exact.append(cut(number, line, spans))
        if self._patterns.words and len(found.words) < most:
            spans = self._patterns.all_words(line)
            if spans:
                found.words.append(cut(number, line, spans))


def _texts(session: Session, found: _Found, scope: Scope) -> list[TextHits]:
    """With the runs and graphs that hold them: run by run, as the texts came to be."""
    places = places_of(session, [digest for digest, _, _ in found.texts], scope.run, scope.file)
    texts = [(digest, hits, more) for digest, hits, more in found.texts if digest in places]
    lines = {digest: [hit.line for hit in hits] for digest, hits, _ in texts}
    placed = place_lines(session, places, lines)
    runs: dict[str, int] = {}
    for digest, _, _ in texts:
        runs.setdefault(places[digest].place.run.id, len(runs))

    def order(item: tuple[str, list[LineHit], bool]) -> tuple[int, str, int, str]:
        place = places[item[0]].place
        return runs[place.run.id], place.graph or "", ORDER.get(place.role, len(ORDER)), place.path

    return [
        TextHits(
            places[digest],
            [
                Hit(hit.line, hit.text, hit.marks, place)
                for hit, place in zip(hits, placed[digest], strict=True)
            ],
            more,
        )
        for digest, hits, more in sorted(texts, key=order)
    ]
