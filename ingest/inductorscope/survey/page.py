"""The page Atlas: the figures of a survey, and its events."""

from itertools import pairwise

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.answers.compare.table import OFFERED
from inductorscope.answers.missing import NotHere
from inductorscope.answers.parts import RunName
from inductorscope.contract.compare import figure_text
from inductorscope.contract.lock import BY_ID, COUNTS, Count
from inductorscope.fields import Hidden, Prose
from inductorscope.store.tables.models import Run
from inductorscope.store.tables.surveys import SurveyCell
from inductorscope.survey.cells import cells_of, rows_of, survey_named, version_order
from inductorscope.survey.changes import compared
from inductorscope.survey.events import AtlasEvent, events_of


class AtlasCell(msgspec.Struct, frozen=True):
    """A figure of a program with one torch."""

    text: Prose
    """The figure with its unit; empty if it was not compiled."""
    more: Prose
    """The difference from the torch before; empty if there is none."""
    failure: str
    run: Hidden[str]
    value: Hidden[int | None]


class AtlasRow(msgspec.Struct, frozen=True):
    """A figure of a program with each torch."""

    program: str
    device: str
    mode: str
    figure: Prose
    cells: list[AtlasCell]
    """One for each torch."""


class Atlas(msgspec.Struct, frozen=True):
    """A survey `/atlas`; `name`, `figure` and `program` repeat the request."""

    name: str
    figure: str
    program: str
    title: Prose
    torches: list[str]
    """The labels of the environments, the oldest torch first."""
    rows: list[AtlasRow]
    events: list[AtlasEvent]
    failed: int
    """Cells that failed."""
    names: Hidden[list[str]]
    """All surveys, the newest first."""
    figures: Hidden[dict[str, str]]
    """Figures to choose from, with their titles."""
    offered: Hidden[list[RunName]]
    """The newest runs that are not of the survey."""


def atlas_page(session: Session, name: str = "", figure: str = "", program: str = "") -> Atlas:
    """Returns the newest survey, or one by its name. Raises NotHere."""
    name, names = survey_named(session, name)
    figure = figure or "kernels"
    if figure not in BY_ID:
        raise NotHere(f"There is no figure {figure}.", f"The figures are {', '.join(BY_ID)}.")
    cells = cells_of(session, name)
    if program and program not in {cell.program for cell in cells}:
        raise NotHere(f"The survey {name} has no program {program}.")
    torches = list(dict.fromkeys(cell.python for cell in sorted(cells, key=version_order)))
    known = {count for cell in cells for count in cell.counts}
    programs = list(dict.fromkeys(cell.program for cell in cells))
    rows = []
    for (of, device, mode), row in sorted(
        rows_of(cells).items(), key=lambda row: (programs.index(row[0][0]), row[0])
    ):
        if program not in ("", of):
            continue
        by_torch = {cell.python: cell for cell in row}
        columns = [None, *(by_torch.get(torch) for torch in torches)]
        rows += [
            AtlasRow(of, device, mode, count.title,
                     [_cell(count, cell, before) for before, cell in pairwise(columns)])
            for count in COUNTS
            if count.id == figure or (program and any(cell.counts.get(count.id) for cell in row))
        ]  # fmt: skip
    own = select(SurveyCell.run_id).where(SurveyCell.survey == name, SurveyCell.run_id.is_not(None))
    others = select(Run.id, Run.name).where(Run.graph_count > 0, Run.id.not_in(own))
    others = others.order_by(Run.created_at.desc())
    return Atlas(
        name=name, figure=figure, program=program, title=BY_ID[figure].title, torches=torches,
        rows=rows, events=events_of(cells, program),
        failed=sum(bool(cell.failure) for cell in cells), names=names,
        figures={count.id: count.title for count in COUNTS if count.id in known},
        offered=[RunName(*row) for row in session.execute(others.limit(OFFERED))],
    )  # fmt: skip


def _cell(count: Count, cell: SurveyCell | None, before: SurveyCell | None) -> AtlasCell:
    value = cell.counts.get(count.id) if cell else None
    if cell is None or value is None:
        failure = (cell.failure or "") if cell else ""
        return AtlasCell("", "", failure, (cell and cell.run_id) or "", None)
    more = value - before.counts[count.id] if before and compared(before, cell, count.id) else 0
    sign = "+" if more > 0 else "−"
    return AtlasCell(
        figure_text(count, value), f"{sign}{figure_text(count, abs(more))}" if more else "", "",
        cell.run_id or "", value,
    )  # fmt: skip
