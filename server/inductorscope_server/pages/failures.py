"""The failure pages: what failed in a run, where and why, and the jobs that diagnose it."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Form, Path, Query
from inductorscope import urls
from inductorscope.answers.failures.components import ComponentsPage, components_page
from inductorscope.answers.failures.failures import FailuresPage
from inductorscope.answers.failures.minify import MinifyPage, minify_page, repro_of
from inductorscope.answers.failures.numbers import NumbersPage, Order, numbers_page
from inductorscope.answers.failures.report import reported
from inductorscope.answers.failures.values import ValuesPage, values_page
from inductorscope.answers.missing import NotHere
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from inductorscope_server.access.rules import READS, RUNS_CODE
from inductorscope_server.api.bodies import MinifyRequest, started, starts
from inductorscope_server.web import openapi
from inductorscope_server.web.answers import attached
from inductorscope_server.web.errors import Refusal
from inductorscope_server.web.ids import LARGEST, First, RunId, text
from inductorscope_server.web.parts import Analysing, Parts, Reading, Shared

html = APIRouter(dependencies=[RUNS_CODE])
api = APIRouter(tags=[openapi.RUNS], dependencies=[READS])

PATH = "/runs/{run}/failures"
FILE = "inductorscope-repro.py"

Search = Annotated[
    Literal["components", "numbers"],
    Path(description="Runs the program with each backend, or compares it node by node."),
]
OfJob = Annotated[str | None, text("An earlier search, by its job.", 64)]
GraphOf = Annotated[str, text("Name of the graph whose nodes to list.", 300)]
OnlyNodes = Annotated[
    Literal["", "differs", "compared", "random"], Query(description="Only nodes of this kind.")
]
NodeOrder = Annotated[Order, Query(description="In graph order, or by error.")]
Source = Annotated[int | None, Query(description="The file with the values.", ge=0, le=LARGEST)]
OfKernel = Annotated[str, text("Part of the kernel's name.", 200)]
OnlyValues = Annotated[
    Literal["", "bad", "zeros"], Query(description="Only NaN and Inf, or only all zeros.")
]


async def load(request: Request, analysis: Analysing, run: RunId) -> FailuresPage:
    return await analysis(reported, run, str(request.base_url).rstrip("/") + urls.failures(run))


async def load_components(analysis: Analysing, run: RunId) -> ComponentsPage:
    return await analysis(components_page, run)


async def load_minify(analysis: Analysing, run: RunId, job: OfJob = None) -> MinifyPage:
    return await analysis(minify_page, run, job)


async def load_numbers(
    analysis: Analysing, run: RunId, graph: GraphOf = "", only: OnlyNodes = "",
    order: NodeOrder = "graph", first: First = 0,
) -> NumbersPage:  # fmt: skip
    return await analysis(numbers_page, run, graph=graph, only=only, order=order, first=first)


async def load_values(
    analysis: Analysing, run: RunId, source: Source = None, kernel: OfKernel = "",
    only: OnlyValues = "", first: First = 0,
) -> ValuesPage:  # fmt: skip
    return await analysis(values_page, run, source=source, kernel=kernel, only=only, first=first)


@api.get(
    f"{PATH}/report.md",
    summary="A run's failure as Markdown for an issue",
    **openapi.answers("text/markdown", 404),
)
async def get_report(page: Annotated[FailuresPage, Depends(load)]) -> Response:
    return Response(page.report, media_type="text/markdown; charset=utf-8")


@api.get(
    f"{PATH}/minify/{FILE}",
    summary="The smallest failing program as a file",
    **openapi.answers("text/x-python", 404, 422),
)
def get_repro(session: Reading, run: RunId, job: OfJob = None) -> Response:
    """A program that needs only torch. It ran here before it was stored."""
    found = repro_of(session, run, job)
    if found is None:
        raise NotHere(
            "No search has produced a program yet.",
            f"Start one at {urls.failure_part(run, 'minify')}.",
        )
    return attached(found, FILE, "text/x-python")


@api.post(
    f"{PATH}/minify",
    dependencies=[RUNS_CODE],
    summary="Search for the smallest failing program",
    **starts(404, 409, 422),
)
async def post_minify(parts: Shared, run: RunId, body: MinifyRequest) -> Response:
    """Reduces the graph to a smaller program that still fails. Only for runs captured here."""
    return started(await _start_minify(parts, run, body))


@api.post(
    f"{PATH}/{{search}}",
    dependencies=[RUNS_CODE],
    summary="Search for the component that fails, or for the first wrong number",
    **starts(404),
)
def post_search(parts: Shared, run: RunId, search: Search) -> Response:
    """Runs the program again to find where it fails. Only for runs captured here."""
    return started(parts.jobs.programs.diagnose(search, run, {}))


async def _start_minify(parts: Parts, run: str, body: MinifyRequest) -> str:
    page = await parts.analysis(minify_page, run, body.resume)
    if page.refusal:
        raise Refusal(403, page.refusal)
    if page.panel.active:
        raise Refusal(409, "A search is already running.", do="Wait for it or stop it first.")
    if body.resume is not None and not (page.job == body.resume and page.can_resume):
        raise Refusal(409, "That search cannot go on.", do="Start a new one.")
    options = body.model_dump(exclude_none=True)
    return await run_in_threadpool(parts.jobs.programs.diagnose, "minify", run, options)


@html.post(f"{PATH}/minify")
async def minify_by_form(
    parts: Shared, run: RunId, body: Annotated[MinifyRequest, Form()]
) -> Response:
    """Starts the job and redirects to its page, which follows it."""
    await _start_minify(parts, run, body)
    return RedirectResponse(urls.failure_part(run, "minify"), 303)


@html.post(f"{PATH}/{{search}}")
def search_by_form(parts: Shared, run: RunId, search: Search) -> Response:
    """Starts the job and redirects to it."""
    return RedirectResponse(urls.job(parts.jobs.programs.diagnose(search, run, {})), 303)
