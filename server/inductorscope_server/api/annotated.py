"""Output code with FX lines as comments, as a download."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter
from inductorscope.answers.explorer.annotated import annotation_parts
from inductorscope.answers.missing import NotHere
from inductorscope.correlate.annotate.code import annotate, node_texts
from inductorscope.formats.graph.fx import parse_fx
from sqlalchemy.orm import Session
from starlette.responses import Response

from inductorscope_server.web import openapi
from inductorscope_server.web.answers import python_file
from inductorscope_server.web.blobs import content_of
from inductorscope_server.web.errors import Documented, documented
from inductorscope_server.web.ids import RunId, Slug
from inductorscope_server.web.parts import Reading

api = APIRouter(prefix="/runs/{run}/graphs/{slug}", tags=[openapi.GRAPHS])

CODE: Documented = {200: {"content": {"text/x-python": {"schema": {"type": "string"}}}}}


@api.get(
    "/annotated.py",
    summary="Output code with FX lines as comments",
    response_class=Response,
    responses={**CODE, **documented(404, 422)},
)
def annotated_code(
    session: Reading, run: RunId, slug: Slug, style: Literal["line", "kernel"] = "line"
) -> Response:
    """Returns the graph's `output_code.py`, still runnable, with FX lines as comments.

    With `line`, each kernel line has the FX line it computes above it; with `kernel`, all FX lines
    and user lines of a kernel are above the kernel.
    """
    sources = annotation_parts(session, run, slug)
    code, graph = _text(session, sources.code), _text(session, sources.graph)
    if code is None or graph is None:
        missing = "output_code.py" if code is None else "fx_graph_transformed.py"
        raise NotHere(
            f"Graph {slug} of run {run} has no {missing}, which annotation needs.",
            "Upload the graph's whole debug folder.",
        )
    text = annotate(code, sources.links, node_texts(graph, parse_fx(graph)), style)
    return python_file(text, f"output_code.annotated_{style}.py")


def _text(session: Session, artifact: int | None) -> str | None:
    content = None if artifact is None else content_of(session, artifact)
    if content is None:
        return None
    return b"".join(content.chunks()).decode("utf-8", "replace")
