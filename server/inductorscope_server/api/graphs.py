"""What scripts and commands ask of a run's graphs: nodes, reasons, annotated code, the lock."""

from typing import Annotated

from fastapi import APIRouter, Query
from inductorscope.answers.explorer.annotated import annotated_output
from inductorscope.answers.explorer.links import Nodes, nodes_of
from inductorscope.answers.explorer.reasons import Reasons, reasons_of_line
from inductorscope.answers.missing import NotAnalysed, NotHere
from inductorscope.contract.lock import write_lock
from inductorscope.contract.project import project
from inductorscope.formats.vocabulary import POST_GRAD
from starlette.responses import Response

from inductorscope_server.access.rules import READS
from inductorscope_server.web import openapi
from inductorscope_server.web.answers import as_json, attached
from inductorscope_server.web.ids import RunId, Slug
from inductorscope_server.web.naming import ExplainedStage, GraphStage
from inductorscope_server.web.parts import Analysing, Reading

api = APIRouter(prefix="/runs/{run}", dependencies=[READS])

GRAPH = "/graphs/{slug}"
LAST_LINE = 10_000_000


@api.get(
    f"{GRAPH}/nodes",
    summary="FX nodes and their inputs",
    tags=[openapi.GRAPHS],
    **openapi.answers(Nodes, 404, 422),
)
def get_nodes(session: Reading, run: RunId, slug: Slug, stage: GraphStage = POST_GRAD) -> Response:
    """Returns the nodes of an FX stage in line order, as parallel columns.

    Inputs are known only for the post-grad graph.
    """
    return as_json(nodes_of(session, run, slug, stage))


@api.get(
    f"{GRAPH}/annotated.py",
    summary="Output code with FX lines as comments",
    tags=[openapi.GRAPHS],
    **openapi.answers("text/x-python", 404, 422),
)
async def annotated_code(analysis: Analysing, run: RunId, slug: Slug) -> Response:
    """Returns the graph's `output_code.py`, still runnable, with the FX line that each kernel line
    computes above it."""
    text = await analysis(annotated_output, run, slug)
    return attached(text, "output_code.annotated.py", "text/x-python")


@api.get(
    f"{GRAPH}/reason",
    summary="Reasons for a line's links",
    tags=[openapi.GRAPHS],
    **openapi.answers(Reasons, 404, 422),
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


@api.get(
    "/inductor.lock",
    summary="What the run's compiles are, as a lock",
    tags=[openapi.RUNS],
    **openapi.answers("application/toml", 404, 422),
)
async def run_lock(analysis: Analysing, run: RunId) -> Response:
    """Returns the file that `inductorscope lock --run` writes: breaks, kernels and the lines they
    compute, bytes, guards."""
    try:
        program = await analysis(project, run, "")
    except NotAnalysed as error:
        raise NotHere(str(error), "Lock the run on its own machine.") from error
    return attached(write_lock([program]), "inductor.lock", "application/toml")
