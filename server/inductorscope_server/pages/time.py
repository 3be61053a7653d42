"""Time: eager beside compiled; by category, kernel, node and line; and the machine's limits."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query
from inductorscope.answers.time.roofline import Bound, Order, RooflinePage, roofline_page
from inductorscope.answers.time.tables import Asked, TimesTable, times_table
from inductorscope.answers.time.time import TimePage, time_page
from inductorscope.formats.vocabulary import category_named
from pydantic import AfterValidator

from inductorscope_server.web.ids import LARGEST, PLAIN, First, Line, RunId
from inductorscope_server.web.parts import Reading

Of = Annotated[
    Literal["kernels", "lines", "nodes", "trace", "rows", "events"],
    Query(description="Of the code, or (`trace`, `rows`, `events`) of a profile."),
]
ProfileId = Annotated[int, Query(description="Number of a profile; 0 for none.", ge=0, le=LARGEST)]
SortedBy = Annotated[str, Query(description="Column to sort by.", max_length=40, pattern=PLAIN)]
Direction = Annotated[Literal["", "asc", "desc"], Query(description="Empty for the usual order.")]
Text = Annotated[str, Query(description="Part of a name.", max_length=500, pattern=PLAIN)]
Category = Annotated[
    Line,  # before what is checked after it, so that the description holds its pattern
    AfterValidator(category_named),
    Query(description="Only this kind."),
]

OfGraph = Annotated[str, Query(description="Only kernels of this graph.", max_length=255)]
BoundBy = Annotated[
    Bound, Query(description="Only kernels that this limits; `over`: faster than the roof allows.")
]
Comes = Annotated[Order, Query(description="What comes first.")]


def load_time(session: Reading, run: RunId) -> TimePage:
    return time_page(session, run)


def load_table(
    session: Reading, run: RunId, of: Of = "kernels", profile: ProfileId = 0, sort: SortedBy = "",
    order: Direction = "", q: Text = "", category: Category = "", first: First = 0,
) -> TimesTable:  # fmt: skip
    """Kernels, lines and nodes of the code; kernels, rows and events of a profile. Sorted, filtered
    and paged by the server, so that a hundred thousand rows are as quick as ten."""
    asked = Asked(of, profile or None, sort, order, q.strip(), category, first)
    return times_table(session, run, asked)


def load_roofline(
    session: Reading, run: RunId, graph: OfGraph = "", bound: BoundBy = "",
    order: Comes = "headroom", first: First = 0,
) -> RooflinePage:  # fmt: skip
    return roofline_page(session, run, graph=graph, bound=bound, order=order, first=first)
