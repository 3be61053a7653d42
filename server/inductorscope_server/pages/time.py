"""The time pages: eager and compiled, tables by kernel, node and line, and the roofline."""

from typing import Annotated, Literal

from fastapi import Query
from inductorscope.answers.time.kernels import Fill, KernelOrder, KernelsPage, kernels_page
from inductorscope.answers.time.roofline import (
    Bound,
    Order,
    RooflinePage,
    roofline_page,
)
from inductorscope.answers.time.tables import RowsAsked, TimesTable, times_table
from inductorscope.answers.time.time import TimePage, time_page

from inductorscope_server.web.ids import LARGEST, First, Line, RunId, text
from inductorscope_server.web.parts import Analysing, Reading

Of = Annotated[
    Literal["lines", "nodes", "trace", "rows"],
    Query(description="Rows of the code, or (`trace`, `rows`) of a profile."),
]
ProfileId = Annotated[int, Query(description="Number of a profile; 0 for none.", ge=0, le=LARGEST)]
SortedBy = Annotated[str, text("Column to sort by.", 40)]
Direction = Annotated[Literal["", "asc", "desc"], Query(description="Empty for the default order.")]
Text = Annotated[str, text("Part of a name.", 500)]
Category = Annotated[
    Line,  # must come first, so that the description includes its pattern
    Query(description="Only this kind."),
]

Label = Annotated[str, text("Label of the profile to show.", 1000)]
OfGraph = Annotated[str, text("Only kernels of this graph.", 255)]
BoundBy = Annotated[
    Bound,
    Query(
        description="Only kernels with this limit; `over`: faster than the roof allows; `small`: "
        "too small to judge."
    ),
]
Comes = Annotated[Order, Query(description="Order of the kernels.")]


def load_time(session: Reading, run: RunId, profile: Label = "") -> TimePage:
    """Figures of one profile, and of the code if the profile names its kernels."""
    return time_page(session, run, profile)


def load_table(
    session: Reading, run: RunId, of: Of = "lines", profile: ProfileId = 0, sort: SortedBy = "",
    order: Direction = "", q: Text = "", category: Category = "", first: First = 0,
) -> TimesTable:  # fmt: skip
    """Lines and nodes of the code; kernels and rows of a profile. The server sorts, filters and
    pages, so long tables load as fast as short ones."""
    query = RowsAsked(of, profile or None, sort, order, q=q.strip(), category=category, first=first)
    return times_table(session, run, query)


async def load_kernels(
    analysis: Analysing, run: RunId, q: Line = "", graph: OfGraph = "", category: Category = "",
    fill: Fill = "", order: KernelOrder = "time", first: First = 0,
) -> KernelsPage:  # fmt: skip
    """What each kernel computes and costs, how it is launched, and why it is one of its own."""
    return await analysis(
        kernels_page, run, q=q, graph=graph, category=category, fill=fill, order=order,
        first=first,
    )  # fmt: skip


async def load_roofline(
    analysis: Analysing, run: RunId, graph: OfGraph = "", bound: BoundBy = "",
    order: Comes = "headroom", first: First = 0,
) -> RooflinePage:  # fmt: skip
    """The roofline of the code's kernels."""
    return await analysis(roofline_page, run, graph=graph, bound=bound, order=order, first=first)
