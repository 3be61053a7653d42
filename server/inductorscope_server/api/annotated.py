"""Output code with FX lines as comments, as a download."""

from __future__ import annotations

from fastapi import APIRouter
from inductorscope.answers.explorer.annotated import annotated_output
from inductorscope.correlate.annotate.code import Style
from starlette.responses import Response

from inductorscope_server.access.rules import READS
from inductorscope_server.web import openapi
from inductorscope_server.web.answers import python_file
from inductorscope_server.web.errors import Documented, documented
from inductorscope_server.web.ids import RunId, Slug
from inductorscope_server.web.parts import Analysing

api = APIRouter(prefix="/runs/{run}/graphs/{slug}", tags=[openapi.GRAPHS], dependencies=[READS])

CODE: Documented = {200: {"content": {"text/x-python": {"schema": {"type": "string"}}}}}


@api.get(
    "/annotated.py",
    summary="Output code with FX lines as comments",
    response_class=Response,
    responses={**CODE, **documented(404, 422)},
)
async def annotated_code(
    analysis: Analysing, run: RunId, slug: Slug, style: Style = "line"
) -> Response:
    """Returns the graph's `output_code.py`, still runnable, with FX lines as comments.

    With `line`, each kernel line has the FX line it computes above it; with `kernel`, all FX lines
    and user lines of a kernel are above the kernel.
    """
    text = await analysis(annotated_output, run, slug, style)
    return python_file(text, f"output_code.annotated_{style}.py")
