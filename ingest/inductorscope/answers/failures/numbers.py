"""The first wrong number: results of the newest search, a page of rows at a time."""

from collections.abc import Callable
from typing import Any, Literal

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.analyze.failures.numbers import NodeNumbers
from inductorscope.answers.compile.parts import read_run_story
from inductorscope.answers.failures.failures import Panel, panel, refusal
from inductorscope.answers.parts import RunName
from inductorscope.fields import Hidden, Number, Prose
from inductorscope.store.runs.diagnoses import DiagnosisLine, diagnoses_of, newest_diagnosis
from inductorscope.store.tables.models import Graph

SHOWN = 100
"""Rows of one page."""
MOST_POINTS = 5000

Order = Literal["graph", "error"]
Row = dict[str, Any]

FILTERS: dict[str, Callable[[Row], bool]] = {
    "": lambda _: True,
    "differs": lambda row: row["status"] == "differs",
    "compared": lambda row: bool(row.get("measured")),
    "random": lambda row: row["status"] in ("random", "unknown"),
}


class NumbersPoint(msgspec.Struct, frozen=True):
    """A node in the chart: its position, its error and what is allowed."""

    at: int
    node: str
    kernel: str
    status: str
    how: Prose
    excess: Number | None
    max_abs: Number | None
    allowed: Number | None


class Culprit(msgspec.Struct, frozen=True):
    """How the node to blame was identified."""

    node: str
    found: Literal["buffer", "stored", "alone"]
    alone_wrong: bool | None
    note: str


class GraphNumbers(msgspec.Struct, frozen=True):
    """One graph's comparison, without its rows."""

    name: str
    slug: str
    """Slug of the run's graph with that name; empty if the run has none."""
    backward: bool
    done: bool
    compared: int
    differing: list[str]
    random: list[str]
    unsteady: list[str]
    left_out: int
    culprit: Culprit | None


class NumbersPage(msgspec.Struct, frozen=True):
    """Wrong numbers `/runs/{run}/failures/numbers`."""

    run: RunName
    refusal: Prose
    panel: Panel
    summary: dict[str, Any] | None
    """None before a search has a result."""
    tolerance: str
    reasons: dict[str, str]
    inputs: str
    graphs: list[GraphNumbers]
    graph: str
    """Name of the graph whose rows are shown."""
    blamed: NodeNumbers | None
    blamed_slug: str
    points: Hidden[list[NumbersPoint]]
    rows: list[NodeNumbers]
    row_count: int
    node_count: int
    only: str
    order: Order
    first: Hidden[int]
    shown: Hidden[int]
    diagnoses: list[DiagnosisLine]


def numbers_page(
    session: Session, run_id: str, *, graph: str = "", only: str = "", order: Order = "graph",
    first: int = 0,
) -> NumbersPage:  # fmt: skip
    run_story = read_run_story(session, run_id)
    newest = newest_diagnosis(session, run_id, "numbers")
    result: dict[str, Any] = newest.result if newest is not None else {}
    named = select(Graph.name, Graph.slug).where(Graph.run_id == run_id)
    slugs = dict(session.execute(named).all())
    graphs: list[dict[str, Any]] = result.get("graphs") or []
    chosen = _chosen(graphs, graph)
    all_rows: list[Row] = chosen["rows"] if chosen else []
    wanted = [row for row in all_rows if FILTERS.get(only, FILTERS[""])(row)]
    if order == "error":
        wanted.sort(key=_excess, reverse=True)
    blamed, blamed_slug = _blamed(graphs, slugs)
    return NumbersPage(
        run=run_story.name,
        refusal=refusal(run_story),
        panel=panel(session, run_id, "numbers"),
        summary=result.get("summary"),
        tolerance=result.get("tolerance", ""),
        reasons=result.get("reasons") or {},
        inputs=result.get("inputs", ""),
        graphs=[
            msgspec.convert(row | {"slug": slugs.get(row["name"], "")}, GraphNumbers)
            for row in graphs
        ],
        graph=chosen["name"] if chosen else "",
        blamed=msgspec.convert(blamed, NodeNumbers | None),
        blamed_slug=blamed_slug,
        points=_points(all_rows),
        rows=msgspec.convert(wanted[first : first + SHOWN], list[NodeNumbers]),
        row_count=len(wanted),
        node_count=len(all_rows),
        only=only,
        order=order,
        first=first,
        shown=SHOWN,
        diagnoses=diagnoses_of(session, run_id, "numbers"),
    )  # fmt: skip


def _chosen(graphs: list[dict[str, Any]], name: str) -> dict[str, Any] | None:
    """The requested graph, else the first that differs, else the first."""
    requested = next((graph for graph in graphs if graph["name"] == name), None)
    wrong = next((graph for graph in graphs if graph["differing"]), None)
    return requested or wrong or (graphs[0] if graphs else None)


def _blamed(graphs: list[dict[str, Any]], slugs: dict[str, str]) -> tuple[Row | None, str]:
    for graph in graphs:
        for row in graph["rows"]:
            if row["blamed"]:
                return row, slugs.get(graph["name"], "")
    return None, ""


def _points(rows: list[Row]) -> list[NumbersPoint]:
    return [
        NumbersPoint(
            at=at,
            node=row["node"],
            kernel=row["kernel"],
            status=row["status"],
            how=row["how"],
            excess=row["measured"]["excess"],
            max_abs=row["measured"]["max_abs"],
            allowed=row["measured"]["allowed"],
        )
        for at, row in enumerate(rows)
        if row.get("measured")
    ][:MOST_POINTS]


def _excess(row: Row) -> float:
    measured = row.get("measured")
    if not measured:
        return -1.0
    excess = measured["excess"]
    return float("inf") if excess is None else float(excess)
