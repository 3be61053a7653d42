"""Long tables of times: kernels, lines and nodes of the code; kernels, rows and events of a
profile. Sorted, filtered and paged here, so that a hundred thousand rows are as quick as ten."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query
from inductorscope.answers.time.tables import Asked
from inductorscope.answers.time.tables import times_table as query
from inductorscope.formats.vocabulary import category_named
from pydantic import AfterValidator
from starlette.requests import Request
from starlette.responses import Response

from inductorscope_server.shapes.time import TimesTable
from inductorscope_server.web import openapi
from inductorscope_server.web.errors import NotHere, documented
from inductorscope_server.web.ids import LARGEST, RunId
from inductorscope_server.web.parts import Reading, Shared

html = APIRouter()
twin = APIRouter(tags=[openapi.RUNS])

PATH = "/runs/{run}/time/table"
PLAIN = r"^[^\x00-\x1f]*$"

Of = Annotated[
    Literal["kernels", "lines", "nodes", "trace", "rows", "events"],
    Query(description="Of the code, or (`trace`, `rows`, `events`) of a profile."),
]
ProfileId = Annotated[int, Query(description="Number of a profile; 0 for none.", ge=0, le=LARGEST)]
Sort = Annotated[str, Query(description="Column to sort by.", max_length=40, pattern=PLAIN)]
Order = Annotated[Literal["", "asc", "desc"], Query(description="Empty for the usual order.")]
Text = Annotated[str, Query(description="Part of a name.", max_length=500, pattern=PLAIN)]
Category = Annotated[
    str,
    AfterValidator(category_named),
    Query(description="Only this kind.", max_length=200, pattern=PLAIN),
]
First = Annotated[int, Query(description="How many to pass over.", ge=0, le=LARGEST)]


def _asked(
    of: Of = "kernels", profile: ProfileId = 0, sort: Sort = "", order: Order = "", q: Text = "",
    category: Category = "", first: First = 0,
) -> Asked:  # fmt: skip
    return Asked(of, profile or None, sort, order, q.strip(), category, first)


Wanted = Annotated[Asked, Depends(_asked)]


def load(session: Reading, run: str, asked: Asked) -> TimesTable:
    found = query(session, run, asked)
    if found is None:
        raise NotHere(
            f"There is no run {run}, or it has no profile {asked.profile}.",
            f"Its profiles are listed at /runs/{run}/time.",
        )
    return TimesTable.model_validate(found)


@twin.get(PATH, summary="Times, row by row", responses=documented(404, 422))
def get_times_table(session: Reading, run: RunId, asked: Wanted) -> TimesTable:
    return load(session, run, asked)


@html.get(PATH)
def times_table_page(
    request: Request, parts: Shared, session: Reading, run: RunId, asked: Wanted
) -> Response:
    return parts.pages.render(request, "time_table.html", load(session, run, asked))
