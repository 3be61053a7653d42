"""One figure over all runs of a name or tag, or one kernel's work in them, and where it changed."""

from bisect import bisect_right
from datetime import datetime
from itertools import pairwise
from statistics import median
from typing import Any

import msgspec
from msgspec.structs import replace
from sqlalchemy import ColumnElement, func, null, select
from sqlalchemy.orm import Session

from inductorscope.analyze.compare.changes import FEWEST, change_points
from inductorscope.analyze.compare.graphs import match_graphs
from inductorscope.analyze.compare.kernels import Change, match_calls
from inductorscope.analyze.totals import known_sum
from inductorscope.answers.compare.figures import FIGURES, Unit
from inductorscope.answers.compare.sides import Side, load_sides
from inductorscope.answers.missing import NotHere
from inductorscope.answers.parts import RunName, run_name
from inductorscope.fields import Hidden, OfRow, Prose, view
from inductorscope.store.runs.rules import tagged
from inductorscope.store.tables.models import UNLISTED, Run
from inductorscope.units import some

MOST = 2000
"""Most runs of a history, the newest."""
MOST_MATCHED = 30
"""Most runs in which a kernel is looked for: each must be compared with the kernel's run."""
OFFERED = 100
TREND = 21
"""Most runs of a trend: the newest, and the runs whose median it is compared with."""


class HistoryRun(RunName, frozen=True):
    """A run of the history and its value."""

    created_at: datetime
    torch_version: str | None
    device: str | None
    value: OfRow[float] | None
    kernel: str = ""
    """The kernels that do the work; empty for other figures."""
    change: Change | None = None
    """How they differ from the kernel that the address names."""
    low: OfRow[float | None] = None
    """10 % of the run's own samples of its step took less than this."""
    high: OfRow[float | None] = None


class LevelChange(msgspec.Struct, frozen=True):
    """A change of level: the last run before it and the first run after it."""

    before: HistoryRun
    after: HistoryRun
    was: OfRow[float]
    """The median before the change."""
    now: OfRow[float]
    differs: list[Prose]
    """What differs between the two runs, in words."""


class Levels(msgspec.Struct, frozen=True):
    """The levels that two runs' steps belong to, among all runs of their name."""

    runs: int
    """Number of runs of the name whose step is timed."""
    a_runs: int
    """Number of runs at A's level."""
    b_runs: int
    a_ms: float
    """Median of A's level."""
    b_ms: float
    same: bool
    """Whether both runs are at one level."""


class Named(msgspec.Struct, frozen=True):
    """A name of runs, the number of runs with it, and the trend of their figure."""

    name: str
    runs: int
    values: list[OfRow[float]]
    """The figure in the newest runs that have it, the oldest first."""
    median: OfRow[float] | None
    """The median of all these values but the newest."""
    stands_out: str
    """"highest" or "lowest" if no earlier of these values is as high or as low, and there are
    enough of them; else empty."""


class History(msgspec.Struct, frozen=True):
    """A figure over time `/history`; `name`, `tag`, `figure` and `kernel` repeat the request."""

    name: str
    tag: str
    figure: str
    kernel: str
    title: str
    unit: Unit
    runs: list[HistoryRun]
    """The oldest first; a run without the figure has no value."""
    known: int
    """Number of runs with the figure."""
    changes: list[LevelChange]
    places: list[int]
    """The first run of each new level, as a position among the runs with the figure."""
    levels: list[OfRow[float]]
    """Median of each level."""
    fewest: int
    """The fewest runs in which a change can be detected."""
    figures: dict[str, str]
    """Figures to choose from, with their titles."""
    names: Hidden[list[Named]]
    """Names to choose from, if the address has neither name nor tag."""
    trend: int
    """The most earlier runs with which the newest run of a name is compared."""


def history(
    session: Session, name: str = "", tag: str = "", figure: str = "", kernel: str = ""
) -> History:
    """Returns the history. `kernel`: `RUN/GRAPH/KERNEL`; without a name or tag, it is looked for in
    runs of the same name. Raises NotHere for an unknown figure or kernel."""
    titles = {known: known_figure.title for known, known_figure in FIGURES.items()}
    if figure and figure not in FIGURES:
        raise NotHere(f"There is no figure {figure}.", f"The figures are {', '.join(FIGURES)}.")
    title, unit = "Timed step, compiled", FIGURES["compiled_ms"].unit
    runs: list[HistoryRun] = []
    if kernel:
        name = name if name or tag else run_name(session, kernel.partition("/")[0]).name
        runs, figure, unit = _of_kernel(session, name, tag, kernel), "", "us"
        title = f"Kernels that do the work of {kernel.partition('/')[2].partition('/')[2]}"
    elif name or tag:
        # Without a figure in the address, show the first that a run has.
        for known in [figure] if figure else FIGURES:
            runs, title, unit = _runs(session, name, tag, known), *_named(known)
            if figure or any(run.value is not None for run in runs):
                figure = known
                break
    timed = [(run, run.value) for run in runs if run.value is not None]
    places = change_points([value for _, value in timed])
    edges = [0, *places, len(timed)]
    levels = [
        median(value for _, value in timed[low:high])
        for low, high in pairwise(edges)
        if len(timed) >= FEWEST
    ]
    changes = [
        LevelChange(
            timed[at - 1][0], timed[at][0], was, now, _differs(timed[at - 1][0], timed[at][0])
        )
        for at, (was, now) in zip(places, pairwise(levels), strict=True)
    ]
    names: list[Named] = []
    if not (name or tag):
        figure = figure or next(iter(FIGURES))
        title, unit = _named(figure)
        names = _names(session, FIGURES[figure].column)
    return History(
        name=name, tag=tag, figure=figure, kernel=kernel, title=title, unit=unit, runs=runs,
        known=len(timed), changes=changes, places=places, levels=levels, fewest=FEWEST,
        figures=titles, names=names, trend=TREND - 1,
    )  # fmt: skip


def levels_of(session: Session, before: Run, after: Run) -> Levels | None:
    """Returns the levels; None if the runs have different names, or too few runs of the name are
    timed."""
    runs = _runs(session, before.name, "", "compiled_ms") if before.name == after.name else []
    values = {run.id: run.value for run in runs if run.value is not None}
    if len(values) < FEWEST or not {before.id, after.id} <= values.keys():
        return None
    times, ids = list(values.values()), list(values)
    edges = [0, *change_points(times), len(times)]
    ends = [bisect_right(edges, ids.index(end.id)) for end in (before, after)]
    a, b = (times[edges[end - 1] : edges[end]] for end in ends)
    return Levels(len(times), len(a), len(b), median(a), b_ms=median(b), same=ends[0] == ends[1])


def _named(figure: str) -> tuple[str, Unit]:
    return FIGURES[figure].title, FIGURES[figure].unit


def _runs(session: Session, name: str, tag: str, figure: str, most: int = MOST) -> list[HistoryRun]:
    value = FIGURES[figure].column if figure else null()
    timing = Run.timings[figure.removesuffix("_ms")]
    device = func.coalesce(Run.device_name, Run.device_kind)
    query = select(
        Run.id, Run.name, Run.created_at, Run.torch_version, device.label("device"),
        value.label("value"), Run.tags, timing["p10"].as_float().label("low"),
        timing["p90"].as_float().label("high"),
    )  # fmt: skip
    if name:
        query = query.where(Run.name == name)
    if tag:
        query = query.where(tagged(tag))
    rows = session.execute(query.order_by(Run.created_at.desc(), Run.id).limit(most)).all()
    return [view(HistoryRun, row) for row in reversed(rows) if not tag or tag in row.tags]


def _names(session: Session, value: ColumnElement[Any]) -> list[Named]:
    newest = func.max(Run.created_at).desc()
    query = select(Run.name, func.count()).where(Run.origin.not_in(UNLISTED)).group_by(Run.name)
    counts = dict(session.execute(query.order_by(newest).limit(OFFERED)).all())
    place = func.row_number().over(partition_by=Run.name, order_by=Run.created_at.desc())
    known = select(Run.name, value.label("value"), place.label("place")).where(
        Run.name.in_(counts), Run.origin.not_in(UNLISTED), value.is_not(None)
    )
    last = known.subquery()
    rows = session.execute(
        select(last.c.name, last.c.value).where(last.c.place <= TREND).order_by(last.c.place.desc())
    )
    values: dict[str, list[float]] = {name: [] for name in counts}
    for name, row in rows:
        values[name].append(float(row))
    names = [
        Named(
            name, runs, values[name], median(values[name][:-1]) if values[name][1:] else None,
            _stands_out(values[name]),
        )
        for name, runs in counts.items()
    ]  # fmt: skip
    return sorted(names, key=_less_striking)


def _stands_out(values: list[float]) -> str:
    *earlier, newest = values or [0.0]
    if len(values) < FEWEST or min(earlier) <= newest <= max(earlier):
        return ""
    return "highest" if newest > max(earlier) else "lowest"


def _less_striking(one: Named) -> float:
    """Sorts names that stand out first, by their difference; others stay in their order."""
    if not one.stands_out or not one.median:
        return 0.0
    return -abs(one.values[-1] / one.median - 1)


def _of_kernel(session: Session, name: str, tag: str, kernel: str) -> list[HistoryRun]:
    own, slug, wanted = kernel.split("/", 2)
    return [
        _matched(run, *load_sides(session, own, run.id), slug, wanted)
        for run in _runs(session, name, tag, "", MOST_MATCHED)
    ]


def _matched(run: HistoryRun, left: Side, right: Side, slug: str, kernel: str) -> HistoryRun:
    """Returns the run with the time of the calls that do the kernel's work."""
    if not any(call.graph.slug == slug and call.kernel == kernel for call in left.calls):
        raise NotHere(f"Run {left.run} has no kernel {kernel} in {slug}.", run=left.run)
    match_graphs(left.graphs, right.graphs)
    groups = [
        group
        for group in match_calls(left.calls, right.calls)
        if any(call.graph.slug == slug and call.kernel == kernel for call in group.left)
    ]
    calls = [call for group in groups for call in group.right]
    names = list(dict.fromkeys(call.kernel for call in calls))
    return replace(
        run,
        value=known_sum(call.time_us for call in calls),
        kernel=some(names),
        change=next((group.change for group in groups if group.change != "same code"), "same code"),
    )


def _differs(before: HistoryRun, after: HistoryRun) -> list[str]:
    pairs = (
        ("torch", before.torch_version, after.torch_version),
        ("device", before.device, after.device),
    )
    return [f"{what} {was or '—'} → {now or '—'}" for what, was, now in pairs if was != now]
