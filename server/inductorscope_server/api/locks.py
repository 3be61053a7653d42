"""Serves a run as a lock, to download."""

from __future__ import annotations

from fastapi import APIRouter
from inductorscope.answers.limits import NotAnalysed
from inductorscope.answers.missing import NotHere
from inductorscope.contract.lock import write_lock
from inductorscope.contract.project import project
from starlette.responses import Response

from inductorscope_server.access.rules import READS
from inductorscope_server.web import openapi
from inductorscope_server.web.answers import attached
from inductorscope_server.web.errors import Documented, documented
from inductorscope_server.web.ids import RunId
from inductorscope_server.web.parts import Analysing

api = APIRouter(prefix="/runs/{run}", tags=[openapi.RUNS], dependencies=[READS])

TOML: Documented = {200: {"content": {"application/toml": {"schema": {"type": "string"}}}}}


@api.get(
    "/inductor.lock",
    summary="What the run's compiles are, as a lock",
    response_class=Response,
    responses={**TOML, **documented(404, 422)},
)
async def run_lock(analysis: Analysing, run: RunId) -> Response:
    """Returns the file that `inductorscope lock --run` writes: breaks, kernels and the lines they
    compute, bytes, guards."""
    try:
        program = await analysis(project, run, "")
    except NotAnalysed as error:
        raise NotHere(str(error), "Lock the run on its own machine.") from error
    return attached(write_lock([program]), "inductor.lock", "application/toml")
