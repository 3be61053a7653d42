"""Search in code: lines of stored texts that hold what was asked for, newest texts first.

The index knows which pieces of texts hold all words; the lines are looked for in the pieces
themselves. A text that several runs or graphs hold is looked at once. Work is bounded: after so
many lines found or pieces read the rest is left to the next page.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from sqlalchemy import ColumnElement, select, text
from sqlalchemy.orm import Session

from inductorscope.answers.search.lines import LineHit, Patterns
from inductorscope.answers.search.places import LinePlace, TextPlaces, place_lines, places_of
from inductorscope.answers.search.reading import Found, Look
from inductorscope.formats.vocabulary import SEARCHED
from inductorscope.store.contents.fulltext import (
    matching_pieces,
    matching_pieces_postgresql,
    words_of,
)
from inductorscope.store.tables.models import Artifact, TextFrame

LIMIT = 200
"""Lines of one page."""
MOST_PIECES = 400
"""Pieces of texts that are read for one page."""
SHORTEST = 2
"""Letters and digits that a search needs."""

ORDER = {role: at for at, role in enumerate(SEARCHED)}
CURSOR = "[ew][0-9]{1,15}"


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
    look = Look(session, Patterns.of(q), _matching(session, q, scope), pieces)
    if scope.file is not None:
        found = look.in_one(mode, at or 0, limit)
    else:
        found = look.in_all(mode, at, limit)
    return CodePage(_texts(session, found, scope), found.exact, found.cursor, found.looked_at)


def _matching(session: Session, q: str, scope: Scope) -> ColumnElement[bool]:
    """Pieces that hold all words and are of the scope."""
    postgresql = session.get_bind().dialect.name == "postgresql"
    sql, given = (matching_pieces_postgresql if postgresql else matching_pieces)(words_of(q))
    roles = [scope.role] if scope.role else SEARCHED
    artifact = select(Artifact.id).where(
        Artifact.digest == TextFrame.digest, Artifact.role.in_(roles)
    )
    if scope.run:
        artifact = artifact.where(Artifact.run_id == scope.run)
    if scope.file is not None:
        artifact = artifact.where(Artifact.id == scope.file)
    return TextFrame.id.in_(text(sql).bindparams(**given)) & artifact.exists()


def _texts(session: Session, found: Found, scope: Scope) -> list[TextHits]:
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
