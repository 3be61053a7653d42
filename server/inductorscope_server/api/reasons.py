"""Why a line refers to the nodes it refers to."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from inductorscope.answers.explorer.graph_texts import TooLong
from inductorscope.answers.explorer.reasons import reasons_of_line
from inductorscope.answers.parts import graph_of
from pydantic import BaseModel

from inductorscope_server.web import openapi
from inductorscope_server.web.errors import NotHere, documented
from inductorscope_server.web.ids import RunId, Slug
from inductorscope_server.web.naming import ExplainedStage
from inductorscope_server.web.parts import Reading

api = APIRouter(prefix="/runs/{run}/graphs/{slug}", tags=[openapi.GRAPHS])

LAST_LINE = 10_000_000


class ReasonShape(BaseModel):
    code: Literal["recorded", "data_flow", "reordered", "ambiguous", "doubtful", "unknown"]
    sentence: str
    operation: str
    """The loop-body operation, `op:op7.mul_2`; empty where it is not told."""
    nodes: list[str]
    """The likeliest first; several where several are possible."""
    calls: list[str]
    """The calls of a shared kernel for which it holds; none for all of them."""


class ReasonsAnswer(BaseModel):
    stage: str
    line: int
    reasons: list[ReasonShape]


@api.get("/reason", summary="Why a line is linked as it is", responses=documented(404, 422))
def get_reason(
    session: Reading,
    run: RunId,
    slug: Slug,
    stage: ExplainedStage,
    line: Annotated[int, Query(ge=1, le=LAST_LINE)],
) -> ReasonsAnswer:
    """A sentence for each operation on the line: how it was matched, which node it belongs to, and
    which others remain possible."""
    if graph_of(session, run, slug) is None:
        raise NotHere(f"Run {run} has no graph {slug}.", f"Its graphs are listed at /runs/{run}.")
    try:
        found = reasons_of_line(session, run, slug, stage, line)
    except TooLong as error:
        raise NotHere(
            str(error), "Download the graph's texts and run `inductorscope links`."
        ) from error
    shapes = [
        ReasonShape.model_validate(
            {
                "code": each.code,
                "sentence": each.sentence,
                "operation": each.operation,
                "nodes": each.nodes,
                "calls": each.calls,
            }
        )
        for each in found
    ]
    return ReasonsAnswer(stage=stage, line=line, reasons=shapes)
