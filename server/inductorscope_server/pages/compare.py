"""Comparisons of runs: two in full, more in a table."""

from typing import Annotated

from fastapi import APIRouter, Query
from inductorscope import urls
from inductorscope.answers.compare.compare import compare_page
from inductorscope.answers.compare.history import History, history
from inductorscope.answers.compare.page import ComparePage
from inductorscope.answers.compare.table import RunsCompared, runs_compared
from starlette.responses import RedirectResponse, Response

from inductorscope_server.access.rules import RUNS_CODE
from inductorscope_server.api.bodies import started, starts
from inductorscope_server.web import openapi
from inductorscope_server.web.ids import Line, RunId
from inductorscope_server.web.parts import Analysing, Reading, Shared

html = APIRouter(dependencies=[RUNS_CODE])
api = APIRouter(tags=[openapi.RUNS], dependencies=[RUNS_CODE])

PATH = "/compare/{run}/{other}/measure"
Ids = Annotated[
    list[Annotated[str, Query(pattern="^[0-9a-f]{16}$")]] | None,
    Query(description="Ids of runs.", max_length=100),
]

OfName = Annotated[Line, Query(description="Name of the runs.")]
OfTag = Annotated[Line, Query(description="Tag of the runs.")]
OfFigure = Annotated[Line, Query(description="A figure; without one, the first that a run has.")]
OfKernel = Annotated[
    str,
    Query(
        description="`RUN/GRAPH/KERNEL`: what does the work of this kernel.",
        pattern=r"^$|^[0-9a-f]{16}/[^/\x00-\x1f]+/[^\x00-\x1f]+$",
        max_length=2000,
    ),
]


async def load(analysis: Analysing, run: RunId, other: RunId) -> ComparePage:
    """Compares inputs, the cost of a step, and what compiling produced."""
    return await analysis(compare_page, run, other)


def load_several(session: Reading, run: Ids = None) -> RunsCompared:
    """A table of figures, outliers marked, and further runs to choose from."""
    return runs_compared(session, run or [])


async def load_history(
    analysis: Analysing,
    name: OfName = "",
    tag: OfTag = "",
    figure: OfFigure = "",
    kernel: OfKernel = "",
) -> History:
    """One figure, or one kernel's work, over all runs of a name or tag, and where it changed."""
    return await analysis(history, name, tag, figure, kernel)


def lead_several(page: RunsCompared) -> str | None:
    """Leads to the full comparison, from the older to the newer, if there are two runs."""
    if len(page.runs) != 2:
        return None
    older, newer = sorted(page.runs, key=lambda run: run.created_at)
    return urls.compare(older.id, newer.id)


@api.post(PATH, summary="Measure two runs", **starts(404, 422))
def post_measure(parts: Shared, run: RunId, other: RunId) -> Response:
    """Measures both runs in fresh processes, in turns. Only for runs captured here."""
    return started(parts.jobs.programs.measure(run, other))


@html.post(PATH)
def measure_by_form(parts: Shared, run: RunId, other: RunId) -> Response:
    """Starts the job and redirects to the page, which follows it."""
    parts.jobs.programs.measure(run, other)
    return RedirectResponse(f"{urls.compare(run, other)}#measured", 303)
