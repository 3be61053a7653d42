"""The FX nodes of a graph and their inputs, for the picture of the graph."""

from __future__ import annotations

from fastapi import APIRouter
from inductorscope.answers.explorer.nodes import Nodes, nodes_of
from inductorscope.formats.vocabulary import POST_GRAD
from starlette.responses import Response

from inductorscope_server.access.rules import READS
from inductorscope_server.web import openapi
from inductorscope_server.web.answers import as_json
from inductorscope_server.web.errors import documented
from inductorscope_server.web.ids import RunId, Slug
from inductorscope_server.web.naming import GraphStage
from inductorscope_server.web.parts import Reading

api = APIRouter(prefix="/runs/{run}/graphs/{slug}", tags=[openapi.GRAPHS], dependencies=[READS])


@api.get(
    "/nodes",
    summary="FX nodes and their inputs",
    responses={**openapi.answers(Nodes), **documented(404, 422)},
)
def get_nodes(session: Reading, run: RunId, slug: Slug, stage: GraphStage = POST_GRAD) -> Response:
    """Returns the nodes of an FX stage in line order, as parallel columns.

    Inputs are known only for the post-grad graph.
    """
    return as_json(nodes_of(session, run, slug, stage))
