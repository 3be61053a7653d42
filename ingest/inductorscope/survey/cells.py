"""The cells of a survey, in the database."""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import msgspec
from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from inductorscope.answers.missing import NotHere
from inductorscope.store.tables.models import Run
from inductorscope.store.tables.surveys import SurveyCell
from inductorscope.survey.changes import VERSION, changes_between
from inductorscope.units import by_number


def survey_named(session: Session, name: str) -> tuple[str, list[str]]:
    """Returns the survey of this name, or without one the newest, and the names of all, the newest
    first. Raises NotHere."""
    newest = func.max(SurveyCell.created_at).desc()
    query = select(SurveyCell.survey).group_by(SurveyCell.survey).order_by(newest)
    names = list(session.scalars(query))
    if name and name not in names:
        raise NotHere(f"There is no survey {name}.", "Those that are here are listed at /atlas.")
    return name or next(iter(names), ""), names


def cells_of(session: Session, survey: str) -> Sequence[SurveyCell]:
    """Returns the cells that failed, and those whose run is not in the trash."""
    query = select(SurveyCell).outerjoin(Run, Run.id == SurveyCell.run_id)
    there = or_(SurveyCell.run_id.is_(None), SurveyCell.failure.is_not(None), Run.id.is_not(None))
    query = query.where(SurveyCell.survey == survey, there).order_by(SurveyCell.id)
    return session.scalars(query).all()


def version_order(cell: SurveyCell) -> list[tuple[int, str]]:
    """Sorts cells by torch, then by the label of the environment; 2.9 before 2.10."""
    return by_number(f"{cell.torch.partition('+')[0]} {cell.python}")


def rows_of(cells: Iterable[SurveyCell]) -> dict[tuple[str, str, str], list[SurveyCell]]:
    """Returns the cells of each program, device and mode, the oldest torch first. Of cells of the
    same Python, the newest counts."""
    rows: dict[tuple[str, str, str], dict[tuple[str, str], SurveyCell]] = defaultdict(dict)
    for cell in cells:
        row = rows[cell.program, cell.device, cell.mode]
        row[cell.python, cell.torch] = cell
    return {name: sorted(row.values(), key=version_order) for name, row in rows.items()}


def is_compared(before: SurveyCell, after: SurveyCell) -> bool:
    """Returns whether `after.changes` are those since this version."""
    return after.before == f"{before.run_id}:{VERSION}"


def neighbours(row: Sequence[SurveyCell]) -> Iterator[tuple[SurveyCell, SurveyCell]]:
    """Yields the cells of neighbouring versions; a cell that failed has none."""
    done = [cell for cell in row if cell.run_id and not cell.failure]
    yield from itertools.pairwise(done)


def compare_neighbours(session: Session, cells: Iterable[SurveyCell]) -> None:
    """Compares cells with the version before, where that has not been done."""
    for row in rows_of(cells).values():
        for before, after in neighbours(row):
            if not is_compared(before, after):
                after.changes = msgspec.to_builtins(changes_between(session, before, after))
                after.before = f"{before.run_id}:{VERSION}"
                session.commit()
