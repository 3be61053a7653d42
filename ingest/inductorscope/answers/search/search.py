"""Searches code: lines of stored texts that contain the query, newest texts first.

The index knows which pieces of texts contain all words; the lines are searched for in those pieces.
A text that several runs or graphs share is searched once. Work is bounded: after a number of lines
or pieces, the rest is left to the next page.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from sqlalchemy import ColumnElement, select, text
from sqlalchemy.orm import Session

from inductorscope.answers.search.lines import LineHit, Patterns
from inductorscope.answers.search.places import LinePlace, TextPlaces, place_lines, places_of
from inductorscope.answers.search.reading import Matches, PieceReader
from inductorscope.formats.vocabulary import SEARCHED
from inductorscope.store.contents.fulltext import (
    matching_pieces,
    matching_pieces_postgresql,
    words_of,
)
from inductorscope.store.tables.models import Artifact, TextFrame

LIMIT = 200
"""Lines per page."""
MOST_PIECES = 400
"""Most pieces of texts read for one page."""
SHORTEST = 2
"""Fewest letters and digits of a search."""

ORDER = {role: at for at, role in enumerate(SEARCHED)}
CURSOR = "[ew][0-9]{1,15}"


@dataclass(frozen=True, slots=True)
class Scope:
    """Which texts are searched."""

    run: str | None = None
    role: str | None = None
    file: int | None = None
    """One stored file, of which every match is shown."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A line, and where the explorer shows it."""

    line: int
    text: str
    marks: list[tuple[int, int]]
    place: LinePlace


@dataclass(frozen=True, slots=True)
class TextHits:
    """The matches in one text."""

    places: TextPlaces
    hits: list[Hit]
    more: bool
    """Whether the text has further matches."""


@dataclass(frozen=True, slots=True)
class CodePage:
    """A page of matches in texts."""

    texts: list[TextHits] = field(default_factory=list)
    exact: bool = True
    """False if no line contains the query literally: then the lines contain all its words."""
    next_cursor: str | None = None
    looked_at: int = 0
    """Number of texts read for this page."""


def too_short(q: str) -> bool:
    """Whether the query has too few letters and digits: the index knows nothing else."""
    return sum(len(word) for word in words_of(q)) < SHORTEST


def search_code(
    session: Session,
    q: str,
    scope: Scope | None = None,
    cursor: str | None = None,
    limit: int = LIMIT,
    pieces: int = MOST_PIECES,
) -> CodePage:
    """Lines that contain `q`. Raises ValueError for an invalid cursor."""
    q = q.strip()
    if cursor is not None and not re.fullmatch(CURSOR, cursor):
        raise ValueError("not a cursor of a search")
    mode, at = (cursor[0], int(cursor[1:])) if cursor else (None, None)
    if too_short(q):
        return CodePage()
    scope = scope or Scope()
    reader = PieceReader(session, Patterns.of(q), _matching(session, q, scope), pieces)
    if scope.file is not None:
        matches = reader.one_text(mode, at or 0, limit)
    else:
        matches = reader.all_texts(mode, at, limit)
    return CodePage(
        _texts(session, matches, scope), matches.exact, matches.cursor, matches.looked_at
    )


def _matching(session: Session, q: str, scope: Scope) -> ColumnElement[bool]:
    """Condition for pieces of the scope that contain all words."""
    postgresql = session.get_bind().dialect.name == "postgresql"
    sql, parameters = (matching_pieces_postgresql if postgresql else matching_pieces)(words_of(q))
    roles = [scope.role] if scope.role else SEARCHED
    artifact = select(Artifact.id).where(
        Artifact.digest == TextFrame.digest, Artifact.role.in_(roles)
    )
    if scope.run:
        artifact = artifact.where(Artifact.run_id == scope.run)
    if scope.file is not None:
        artifact = artifact.where(Artifact.id == scope.file)
    return TextFrame.id.in_(text(sql).bindparams(**parameters)) & artifact.exists()


def _texts(session: Session, matches: Matches, scope: Scope) -> list[TextHits]:
    """The texts with the runs and graphs that contain them, run by run, in order of creation."""
    places = places_of(session, [digest for digest, _, _ in matches.texts], scope.run, scope.file)
    texts = [(digest, hits, more) for digest, hits, more in matches.texts if digest in places]
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
