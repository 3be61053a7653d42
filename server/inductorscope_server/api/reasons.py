"""The reasons for a line's references."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from inductorscope.answers.explorer.reasons import Reasons, reasons_of_line
from inductorscope.answers.limits import NotAnalysed
from inductorscope.answers.missing import NotHere
from starlette.responses import Response

from inductorscope_server.access.rules import READS
from inductorscope_server.web import openapi
from inductorscope_server.web.answers import as_json
from inductorscope_server.web.errors import documented
from inductorscope_server.web.ids import RunId, Slug
from inductorscope_server.web.naming import ExplainedStage
from inductorscope_server.web.parts import Analysing

api = APIRouter(prefix="/runs/{run}/graphs/{slug}", tags=[openapi.GRAPHS], dependencies=[READS])

LAST_LINE = 10_000_000


@api.get(
    "/reason",
    summary="Reasons for a line's links",
    responses={**openapi.answers(Reasons), **documented(404, 422)},
)
async def get_reason(
    analysis: Analysing,
    run: RunId,
    slug: Slug,
    stage: ExplainedStage,
    line: Annotated[int, Query(ge=1, le=LAST_LINE)],
) -> Response:
    """Explains each operation on the line in a sentence: how it was matched, which node it belongs
    to, and which other nodes are possible."""
    try:
        return as_json(await analysis(reasons_of_line, run, slug, stage, line))
    except NotAnalysed as error:
        raise NotHere(
            str(error), "Download the graph's texts and run `inductorscope links`."
        ) from error
