"""Several runs in one table, with the values that stand out; and which runs there are to choose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from inductorscope.answers.missing import no_run
from inductorscope.answers.runs.runs import RunRow, run_row
from inductorscope.store.tables.models import Graph, Kernel, Run

OFFERED = 50
DEVIATIONS = 3.5
"""How many robust standard deviations from the median stand out: the usual cut-off for the modified
z-score (Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993)."""
LEAST = 0.03
"""Share of the median by which a value must differ to stand out."""
FIGURES = (
    ("Step, compiled", "ms", "compiled_ms"), ("Step, eager", "ms", "eager_ms"),
    ("Speed-up", "ratio", "speed_up"), ("Compile time", "s", "compile_seconds"),
    ("Graphs", "count", "graph_count"), ("Kernels", "count", "kernel_count"),
    ("Graph breaks", "count", "graph_breaks"), ("Recompiles", "count", "recompiles"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Value:
    """A figure of one run."""

    value: float | None
    odd: bool
    """Whether it stands out among the runs."""


@dataclass(frozen=True, slots=True)
class FigureRow:
    """One figure of all runs, in their order."""

    name: str
    unit: str
    """`us`, `ms`, `s`, `ratio` or `count`."""
    values: list[Value]


@dataclass(frozen=True, slots=True)
class RunsCompared:
    """Several runs `/compare?run=…&run=…`; with fewer than two, runs to choose from."""

    runs: list[RunRow]
    figures: list[FigureRow]
    offered: list[RunRow]
    """Further runs, those of the first run's name first, then the newest."""


def runs_compared(session: Session, ids: Sequence[str]) -> RunsCompared:
    """Raises NotHere if a run is unknown."""
    found = {run.id: run for run in session.scalars(select(Run).where(Run.id.in_(ids)))}
    missing = [one for one in ids if one not in found]
    if missing:
        raise no_run(missing[0])
    runs = [found[one] for one in dict.fromkeys(ids)]
    rows = [run_row(run) for run in runs]
    kernels = dict(
        session.execute(
            select(Graph.run_id, func.sum(Kernel.time_us))
            .join(Kernel)
            .where(Graph.run_id.in_(ids))
            .group_by(Graph.run_id)
        ).all()
    )
    figures = [
        _figure(name, unit, [getattr(row, field) for row in rows]) for name, unit, field in FIGURES
    ]
    figures.insert(2, _figure("Kernels of a step", "us", [kernels.get(row.id) for row in rows]))
    name = runs[0].name if runs else ""
    query = select(Run).where(Run.id.not_in(ids))
    offered = session.scalars(
        query.order_by(Run.name != name, Run.created_at.desc()).limit(OFFERED)
    )
    return RunsCompared(rows, figures, [run_row(run) for run in offered])


def _figure(name: str, unit: str, values: list[float | None]) -> FigureRow:
    known = [value for value in values if value is not None]
    middle = median(known) if known else 0.0
    spread = 1.4826 * median([abs(value - middle) for value in known]) if known else 0.0
    least = max(DEVIATIONS * spread, LEAST * abs(middle))
    return FigureRow(
        name,
        unit,
        [
            Value(value, value is not None and len(known) > 2 and abs(value - middle) > least)
            for value in values
        ],
    )
