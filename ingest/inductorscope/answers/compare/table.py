"""Several runs in one table, with outliers marked, and further runs to choose from."""

from collections.abc import Sequence
from statistics import median

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.answers.compare.figures import FIGURES, Figure, Unit
from inductorscope.answers.missing import no_run
from inductorscope.answers.runs.runs import OF_ROWS, RunRow, run_row
from inductorscope.fields import Hidden, OfRow
from inductorscope.store.tables.models import Run

OFFERED = 50
DEVIATIONS = 3.5
"""A value this many robust standard deviations from the median is an outlier: the usual cut-off for
the modified z-score (Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993)."""
LEAST = 0.03
"""The smallest difference from the median that is an outlier, as a share of the median."""


class Value(msgspec.Struct, frozen=True):
    """A figure of one run."""

    value: OfRow[float] | None
    odd: bool
    """Whether it is an outlier among the runs."""


class FigureRow(msgspec.Struct, frozen=True):
    """One figure of all runs, in the order of the runs."""

    figure: str
    """Its name in addresses."""
    name: str
    unit: Unit
    values: list[Value]


class RunsCompared(msgspec.Struct, frozen=True):
    """Several runs `/compare?run=…&run=…`; with fewer than two, runs to choose from."""

    runs: list[RunRow]
    figures: list[FigureRow]
    offered: Hidden[list[RunRow]]
    """Further runs to choose from: runs of the first run's name first, then the newest."""


def runs_compared(session: Session, ids: Sequence[str]) -> RunsCompared:
    """Compares several runs. Raises NotHere if a run is unknown."""
    found = {
        run.id: run for run in session.scalars(select(Run).options(*OF_ROWS).where(Run.id.in_(ids)))
    }
    missing = [run for run in ids if run not in found]
    if missing:
        raise no_run(missing[0])
    runs = [found[run] for run in dict.fromkeys(ids)]
    rows = [run_row(run) for run in runs]
    columns = [figure.column for figure in FIGURES.values()]
    known = {
        row[0]: row[1:] for row in session.execute(select(Run.id, *columns).where(Run.id.in_(ids)))
    }
    figures = [
        _figure(name, figure, [known[run.id][at] for run in runs])
        for at, (name, figure) in enumerate(FIGURES.items())
    ]
    name = runs[0].name if runs else ""
    query = select(Run).options(*OF_ROWS).where(Run.id.not_in(ids))
    offered = session.scalars(
        query.order_by(Run.name != name, Run.created_at.desc()).limit(OFFERED)
    )
    return RunsCompared(rows, figures, [run_row(run) for run in offered])


def _figure(name: str, figure: Figure, values: list[float | None]) -> FigureRow:
    known = [value for value in values if value is not None]
    middle = median(known) if known else 0.0
    spread = 1.4826 * median([abs(value - middle) for value in known]) if known else 0.0
    least = max(DEVIATIONS * spread, LEAST * abs(middle))
    return FigureRow(
        name,
        figure.title,
        figure.unit,
        [
            Value(value, value is not None and len(known) > 2 and abs(value - middle) > least)
            for value in values
        ],
    )
