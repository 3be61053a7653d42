"""Side by side: two stages, two kernels or two graphs, of one run or of two, lines kept level."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from inductorscope.answers.explorer.beside import recent_runs
from inductorscope.answers.explorer.beside import side as query
from inductorscope.formats.vocabulary import STAGE_BY_ID
from sqlalchemy.orm import Session
from starlette.requests import Request
from starlette.responses import Response

from inductorscope_server.shapes.base import RunName
from inductorscope_server.shapes.beside import Beside, BesideGraph, BesideSide
from inductorscope_server.web import openapi
from inductorscope_server.web.errors import NotHere, documented
from inductorscope_server.web.parts import Reading, Shared

html = APIRouter()
twin = APIRouter(tags=[openapi.GRAPHS])

# 3f9a2c0b1d4e5f60/model__0_forward_1.0/kernel/triton_poi_fused_add_0
SIDE = r"^[0-9a-f]{16}/[^/\x00-\x1f]{1,255}/[a-z_]{1,20}(/[^/\x00-\x1f]{1,1000})?$"
Named = Annotated[
    str,
    Query(
        description="`RUN/GRAPH/STAGE`, and `/KERNEL` where the stage shows one kernel.",
        pattern=SIDE,
        max_length=1400,
        examples=["3f9a2c0b1d4e5f60/model__0_forward_1.0/post_grad"],
    ),
]
PATH = "/beside"


def load(session: Session, left: str, right: str) -> Beside:
    return Beside(
        left=_side(session, left), right=_side(session, right), runs=_offered(session, left, right)
    )


def _offered(session: Session, left: str, right: str) -> list[RunName]:
    """Runs to choose from; those on show are among them."""
    found = {run.id: run for run in recent_runs(session)}
    for side in (left, right):
        run, graph, *_ = side.split("/")
        shown = query(session, run, graph)
        if shown is not None:
            found.setdefault(run, shown.run)
    return [RunName.model_validate(run) for run in found.values()]


def _side(session: Session, side: str) -> BesideSide:
    run, graph, stage, *kernel = side.split("/")
    found = query(session, run, graph)
    if found is None:
        raise NotHere(f"Run {run} has no graph {graph}.", f"Its graphs are listed at /runs/{run}.")
    if stage not in STAGE_BY_ID:
        known = ", ".join(STAGE_BY_ID)
        raise NotHere(f"There is no stage {stage}.", f"Name one of these: {known}.")
    parts = BesideGraph.model_validate(found)
    return BesideSide(
        run=parts.run,
        graph=parts.graph,
        graphs=parts.graphs,
        stage=stage,
        kernel=kernel[0] if kernel else None,
    )


@twin.get(PATH, summary="What two texts side by side are of", responses=documented(404, 422))
def get_beside(session: Reading, left: Named, right: Named) -> Beside:
    return load(session, left, right)


@html.get(PATH)
def beside_page(
    request: Request, parts: Shared, session: Reading, left: Named, right: Named
) -> Response:
    return parts.pages.render(request, "beside.html", load(session, left, right))
