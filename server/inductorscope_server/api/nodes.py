"""The FX nodes of a graph and what they take, as the graph's picture draws them."""

from __future__ import annotations

from fastapi import APIRouter
from inductorscope.answers.parts import graph_of
from inductorscope.formats.vocabulary import POST_GRAD
from inductorscope.store.runs.nodes import fx_nodes

from inductorscope_server.shapes.nodes import Nodes
from inductorscope_server.web import openapi
from inductorscope_server.web.errors import NotHere, documented
from inductorscope_server.web.ids import RunId, Slug
from inductorscope_server.web.naming import GraphStage
from inductorscope_server.web.parts import Reading

api = APIRouter(prefix="/runs/{run}/graphs/{slug}", tags=[openapi.GRAPHS])


@api.get("/nodes", summary="FX nodes and what they take", responses=documented(404, 422))
def get_nodes(session: Reading, run: RunId, slug: Slug, stage: GraphStage = POST_GRAD) -> Nodes:
    """The nodes of an FX stage in the order of its lines, as parallel columns.

    What nodes take is known of the post-grad graph only.
    """
    graph = graph_of(session, run, slug)
    if graph is None:
        raise NotHere(f"Run {run} has no graph {slug}.", f"Its graphs are listed at /runs/{run}.")
    nodes = fx_nodes(session, graph.id, stage)
    places = {node.name: at for at, node in enumerate(nodes)}
    return Nodes(
        names=[node.name for node in nodes],
        targets=[node.target for node in nodes],
        types=[node.annotation or "" for node in nodes],
        lines=[node.line for node in nodes],
        inputs=[
            [places[name] for name in _beside(node.name, node.inputs) if name in places]
            for node in nodes
        ],
    )


def _beside(node: str, inputs: list[str]) -> list[str]:
    """Names of an inner graph's nodes carry its class before them, those they take do not."""
    graph_class, slash, _ = node.rpartition("/")
    return [f"{graph_class}{slash}{name}" for name in inputs]
