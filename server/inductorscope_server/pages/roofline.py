"""Roofline: what each kernel moves and computes, and how far below the machine's limits it is."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from inductorscope.answers.time.roofline import roofline_page as query
from starlette.requests import Request
from starlette.responses import Response

from inductorscope_server.pages.run import no_run
from inductorscope_server.shapes.roofline import RooflinePage
from inductorscope_server.web import openapi
from inductorscope_server.web.errors import documented
from inductorscope_server.web.ids import LARGEST, RunId
from inductorscope_server.web.parts import Reading, Shared

html = APIRouter()
twin = APIRouter(tags=[openapi.RUNS])

PATH = "/runs/{run}/roofline"

OfGraph = Annotated[str, Query(description="Only kernels of this graph.", max_length=255)]
Bound = Annotated[
    Literal["", "memory", "compute", "unknown", "over"],
    Query(description="Only kernels that this limits; `over`: faster than the roof allows."),
]
Sort = Annotated[
    Literal["headroom", "time", "share", "bytes", "rate", "name"],
    Query(description="What comes first."),
]
First = Annotated[int, Query(description="How many to pass over.", ge=0, le=LARGEST)]


def load(
    session: Reading, run: str, graph: str, bound: Bound, order: Sort, first: int
) -> RooflinePage:
    found = query(session, run, graph=graph, bound=bound, order=order, first=first)
    if found is None:
        raise no_run(run)
    return RooflinePage.model_validate(found)


@twin.get(PATH, summary="Kernels beside the machine's limits", responses=documented(404, 422))
def get_roofline(
    session: Reading, run: RunId, graph: OfGraph = "", bound: Bound = "",
    order: Sort = "headroom", first: First = 0,
) -> RooflinePage:  # fmt: skip
    return load(session, run, graph, bound, order, first)


@html.get(PATH)
def roofline_page(
    request: Request, parts: Shared, session: Reading, run: RunId, graph: OfGraph = "",
    bound: Bound = "", order: Sort = "headroom", first: First = 0,
) -> Response:  # fmt: skip
    page = load(session, run, graph, bound, order, first)
    return parts.pages.render(request, "roofline.html", page)
