"""Searches code: lines of stored texts that contain the query, newest texts first.

The index finds the pieces of texts that contain all words; only these are searched for the lines. A
text that several runs or graphs share is searched once. Work is bounded: after a number of lines or
pieces, the rest is left to the next page.
"""

import re
from collections.abc import Sequence

import msgspec
from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from inductorscope.answers.search.lines import LineHit, Patterns
from inductorscope.answers.search.places import (
    LinePlace,
    TextPlace,
    TextPlaces,
    place_lines,
    places_of,
)
from inductorscope.answers.search.reading import Matches, PieceReader
from inductorscope.answers.search.runs import ALL_RUNS, Narrowed
from inductorscope.fields import Hidden, view
from inductorscope.formats.vocabulary import ROLE_TITLES, SEARCHED
from inductorscope.store.contents.fulltext import having_words, words_of
from inductorscope.store.tables.models import Artifact, Run, TextFrame

LIMIT = 200
"""Lines per page."""
MOST_PIECES = 100
"""Most pieces of texts read for one page."""
FEW_RUNS = 1000
"""If a search is narrowed to at most this many runs, their texts are listed before searching."""
SHORTEST = 2
"""Fewest letters and digits of a search."""

ORDER = {role: at for at, role in enumerate(SEARCHED)}
CURSOR = "[ew][0-9]{1,15}"


class Scope(msgspec.Struct, frozen=True):
    """The texts to search."""

    narrowed: Narrowed = ALL_RUNS
    role: str = ""
    file: int | None = None
    """One stored file, of which every match is shown."""


class MatchingLine(LineHit, frozen=True):
    """A line that matches, and its place in the explorer."""

    kernel: str | None
    """The kernel that the line belongs to."""
    url: Hidden[str]
    """URL of the line in the explorer, or in the file if the explorer does not show it."""


class MatchingText(msgspec.Struct, frozen=True):
    """The matches in one text, which several runs and graphs may contain."""

    place: TextPlace
    title: str
    """The kind of text."""
    hits: list[MatchingLine]
    more: bool
    """Whether the text has further matches; pass its `artifact` as `file` to see them all."""
    elsewhere: list[TextPlace]
    """A few other graphs and runs with the same text."""
    more_places: bool
    """Whether there are more of them."""


class CodePage(msgspec.Struct, frozen=True):
    """A page of matches in texts."""

    texts: list[MatchingText] = msgspec.field(default_factory=list)
    exact: bool = True
    """False if no line contains the query literally: then the lines contain all its words."""
    next_cursor: str | None = None
    looked_at: int = 0
    """Number of texts read for this page."""


def too_short(q: str) -> bool:
    """Whether the query has too few letters and digits, which are all that the index contains."""
    return sum(len(word) for word in words_of(q)) < SHORTEST


def search_code(
    session: Session,
    q: str,
    scope: Scope | None = None,
    cursor: str | None = None,
    limit: int = LIMIT,
    pieces: int = MOST_PIECES,
) -> CodePage:
    """Returns the lines that contain `q`. Raises ValueError for an invalid cursor."""
    q = q.strip()
    if cursor is not None and not re.fullmatch(CURSOR, cursor):
        raise ValueError("not a cursor of a search")
    mode, at = (cursor[0], int(cursor[1:])) if cursor else (None, None)
    if too_short(q):
        return CodePage()
    scope = scope or Scope()
    matching, number = having_words(session, words_of(q))
    matching &= _in_scope(session, scope)
    reader = PieceReader(session, Patterns.of(q), matching, number, pieces)
    if scope.file is not None:
        matches = reader.one_text(mode, at or 0, limit)
    else:
        matches = reader.all_texts(mode, at, limit)
    return CodePage(
        _texts(session, matches, scope), matches.exact, matches.cursor, matches.looked_at
    )


def _in_scope(session: Session, scope: Scope) -> ColumnElement[bool]:
    """Condition for pieces of texts in the scope."""
    artifact = select(Artifact.digest)
    if scope.file is not None:  # its text may be indexed because of an equal file
        return TextFrame.digest.in_(artifact.where(Artifact.id == scope.file))
    artifact = artifact.where(Artifact.role.in_([scope.role] if scope.role else SEARCHED))
    if conditions := scope.narrowed.conditions():
        few = session.scalars(select(Run.id).where(*conditions).limit(FEW_RUNS + 1)).all()
        if len(few) <= FEW_RUNS:  # if there are more, most texts belong to one of them
            return TextFrame.digest.in_(artifact.where(Artifact.run_id.in_(few)))
        narrow = select(Run.id).where(Run.id == Artifact.run_id, *conditions)
        artifact = artifact.where(narrow.exists())
    return artifact.where(Artifact.digest == TextFrame.digest).exists()


def _texts(session: Session, matches: Matches, scope: Scope) -> list[MatchingText]:
    """Returns the texts with the runs and graphs that contain them, run by run, in order of
    creation."""
    digests = [digest for digest, _, _ in matches.texts]
    places = places_of(session, digests, scope.narrowed, scope.file)
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
        _matching(places[digest], hits, placed[digest], more)
        for digest, hits, more in sorted(texts, key=order)
    ]


def _matching(
    places: TextPlaces, hits: Sequence[LineHit], placed: Sequence[LinePlace], more: bool
) -> MatchingText:
    place = places.place
    lines = [
        MatchingLine(hit.line, hit.text, hit.marks, at.kernel, at.url(place, hit.line))
        for hit, at in zip(hits, placed, strict=True)
    ]
    title = ROLE_TITLES.get(place.role, place.role)
    return view(MatchingText, places, title=title, hits=lines, more=more)
