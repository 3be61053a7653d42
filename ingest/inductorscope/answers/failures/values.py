"""Values that kernels read and wrote, parsed on request from the texts of a run."""

import math
import threading

import msgspec
from cachetools import LRUCache, cached
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.analyze.values import table as analysis
from inductorscope.analyze.values.table import ValueTable
from inductorscope.answers.missing import NotAnalysed, begin
from inductorscope.answers.parts import RunName, run_of
from inductorscope.fields import Hidden, Number, Prose, view
from inductorscope.formats.printed.intermediate_values import (
    IntermediateValue,
    parse_intermediate_values,
)
from inductorscope.formats.sizes import MIB
from inductorscope.formats.vocabulary import INTERMEDIATE_VALUES
from inductorscope.store.contents.texts import stored_text
from inductorscope.store.tables.models import Artifact

ROLE = INTERMEDIATE_VALUES
ROWS = 100
MOST_BYTES = 32 * MIB
"""Most bytes of a text that are read; of a longer text, only the beginning."""
KEPT = MOST_BYTES // 4
"""Characters of texts whose tables are cached; the table of a longer text is cached alone."""


class ValueSource(msgspec.Struct, frozen=True):
    """A text with printed values, or a saved tensor."""

    artifact: Hidden[int]
    path: str
    size: int


Figure = Number | str | None
"""A figure. JSON has no NaN and no Infinity, so their names stand for them."""


class Value(msgspec.Struct, frozen=True):
    """The figures of a tensor at one time."""

    value: str
    elements: int | None
    dtype: str
    size: tuple[str, ...] | None
    device: str
    mean: Figure
    least: Figure
    largest: Figure
    std: Figure
    nan: int | None
    inf: int | None
    line: int


class ValueRow(msgspec.Struct, frozen=True):
    """One argument of one launch."""

    launch: int
    """Launches count from 1; 0 is before the first."""
    kernel: str
    argument: str
    before: Value | None
    after: Value | None
    bad: str
    """`NaN`, `Inf`, or empty."""
    zeros: bool
    """Whether all elements are zero after the launch: not wrong in itself, but worth a look."""


class ValuesPage(msgspec.Struct, frozen=True):
    """Values `/runs/{run}/failures/values`."""

    run: RunName
    captured: bool
    sources: list[ValueSource]
    source: int | None
    """The artifact whose table is shown."""
    saved: list[ValueSource]
    """Tensors saved as files."""
    sentence: Prose
    launches: int
    kernels: list[str]
    names_only: bool
    mean_as_dtype: bool
    cut: bool
    """Whether only the beginning of the text was read."""
    kernel: str
    only: str
    first: Hidden[int]
    shown: Hidden[int]
    """Rows per page."""
    total: int
    rows: list[ValueRow]
    first_bad: ValueRow | None


def values_page(
    session: Session, run_id: str, *, source: int | None = None, kernel: str = "", only: str = "",
    first: int = 0,
) -> ValuesPage:  # fmt: skip
    run = run_of(session, run_id)
    sources = [
        ValueSource(*row) for row in session.execute(
            select(Artifact.id, Artifact.path, Artifact.size)
            .where(Artifact.run_id == run_id, Artifact.role == ROLE)
            .order_by(Artifact.path)
        )
    ]  # fmt: skip
    texts = [file for file in sources if not file.path.endswith(".pt")]
    chosen = next((text for text in texts if source in (None, text.artifact)), None)
    table, cut = (ValueTable(), False) if chosen is None else _table(session, chosen)
    rows = analysis.shown(table.rows, kernel, only)
    return view(
        ValuesPage, table,
        run=RunName(run.id, run.name), captured=run.origin == "capture", sources=texts,
        source=chosen.artifact if chosen else None,
        saved=[file for file in sources if file.path.endswith(".pt")], cut=cut, kernel=kernel,
        only=only, first=first, shown=ROWS, total=len(rows),
        rows=[_row(row) for row in rows[first : first + ROWS]],
        first_bad=None if table.first_bad is None else _row(table.rows[table.first_bad]),
    )  # fmt: skip


def _row(row: analysis.ValueRow) -> ValueRow:
    return view(ValueRow, row, before=_value(row.before), after=_value(row.after))


def _value(value: IntermediateValue | None) -> Value | None:
    if value is None:
        return None
    figures = {name: _finite(getattr(value, name)) for name in ("mean", "least", "largest", "std")}
    return view(Value, value, **figures)


def _finite(value: float | None) -> Figure:
    if value is None or math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _table(session: Session, source: ValueSource) -> tuple[ValueTable, bool]:
    digest = session.scalar(select(Artifact.digest).where(Artifact.id == source.artifact))
    try:
        begin(f"values {digest}", source.size)
        table = ValueTable() if digest is None else _table_of(session, digest)[1]
    except NotAnalysed as error:
        table = ValueTable(sentence=str(error))
    return table, source.size > MOST_BYTES


@cached(
    LRUCache(KEPT, getsizeof=lambda result: min(result[0], KEPT)),
    key=lambda _session, digest: digest,
    condition=threading.Condition(),
)
def _table_of(session: Session, digest: str) -> tuple[int, ValueTable]:
    """Returns the number of characters of a text, and its table."""
    text = _text(session, digest)
    return len(text), analysis.table_of(parse_intermediate_values(text))


def _text(session: Session, digest: str) -> str:
    stored = stored_text(session, digest)
    if stored is None:
        return ""
    pieces, left = [], MOST_BYTES
    for chunk in stored.chunks():
        pieces.append(chunk[:left])
        left -= len(pieces[-1])
        if left <= 0:
            break
    return b"".join(pieces).decode("utf-8", "replace")
