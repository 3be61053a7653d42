"""Minify: the smallest program that still fails, found, shown beside the original, proven."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from inductorscope.answers.failures.minify import minify_page as query
from inductorscope.answers.failures.minify import repro_of
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from inductorscope_server.pages.failures import start
from inductorscope_server.pages.run import no_run
from inductorscope_server.shapes.jobs import JobStarted
from inductorscope_server.shapes.minify import MinifyAsked, MinifyPage
from inductorscope_server.web import headers, openapi, urls
from inductorscope_server.web.errors import NotHere, Refusal, documented
from inductorscope_server.web.ids import RunId
from inductorscope_server.web.parts import Parts, Reading, Shared

html = APIRouter()
twin = APIRouter(tags=[openapi.RUNS])

PATH = "/runs/{run}/failures/minify"
FILE = "inductorscope-repro.py"

OfJob = Annotated[str | None, Query(description="An earlier search, by its job.", max_length=64)]


def load(session: Reading, run: str, job: str | None) -> MinifyPage:
    found = query(session, run, job)
    if found is None:
        raise no_run(run)
    return MinifyPage.model_validate(found)


@twin.get(PATH, summary="The smallest failing program", responses=documented(404, 422))
def get_minify(session: Reading, run: RunId, job: OfJob = None) -> MinifyPage:
    return load(session, run, job)


@twin.get(
    f"{PATH}/{FILE}",
    summary="The smallest failing program as a file",
    response_class=Response,
    responses=documented(404, 422),
)
def get_repro(session: Reading, run: RunId, job: OfJob = None) -> Response:
    """It needs torch alone, and was run here before it was kept."""
    text = repro_of(session, run, job)
    if text is None:
        raise NotHere(
            "No search has come to a program yet.",
            f"Start one at {urls.failure_part(run, 'minify')}.",
        )
    given = {
        "Content-Disposition": f'attachment; filename="{FILE}"',
        "Content-Security-Policy": headers.SANDBOX,
    }
    return Response(text, media_type="text/x-python; charset=utf-8", headers=given)


@twin.post(
    PATH,
    status_code=202,
    summary="Search for the smallest failing program",
    responses=documented(403, 404, 409, 422),
)
def post_minify(
    parts: Shared, session: Reading, run: RunId, asked: MinifyAsked, response: Response
) -> JobStarted:
    """A worker cuts the program's graph down; only of runs that were captured here."""
    job = _start(parts, session, run, asked)
    response.headers["Location"] = urls.api_job(job)
    return JobStarted(job=job)


def _start(parts: Parts, session: Reading, run: str, asked: MinifyAsked) -> str:
    page = load(session, run, asked.resume)
    if page.refusal:
        raise Refusal(403, page.refusal)
    if page.panel.active:
        raise Refusal(409, "A search is under way already.", do="Wait for it, or stop it first.")
    options = asked.model_dump(exclude_none=True)
    if asked.resume is not None and not (page.job == asked.resume and page.can_resume):
        raise Refusal(409, "There is nothing to resume of that search.", do="Start a new one.")
    return start(parts, run, "minify", options)


@html.get(PATH)
def minify_page(
    request: Request, parts: Shared, session: Reading, run: RunId, job: OfJob = None
) -> Response:
    page = load(session, run, job)
    return parts.pages.render(
        request, "failures_minify.html", page, fragment="fragments/_minify_live.html"
    )


@html.post(PATH)
async def minify_by_form(request: Request, parts: Shared, session: Reading, run: RunId) -> Response:
    """The form's way; it leads back to the page, which follows the search."""
    async with request.form(max_files=0, max_fields=10) as form:
        given = {
            "after": form.get("after") or "aot", "level": form.get("level") or "any",
            "isolated": bool(form.get("isolated")), "resume": form.get("resume") or None,
        }  # fmt: skip
        asked = MinifyAsked.model_validate(given)
    await run_in_threadpool(_start, parts, session, run, asked)
    return RedirectResponse(urls.failure_part(run, "minify"), 303)
