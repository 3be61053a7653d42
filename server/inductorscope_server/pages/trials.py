"""The page of trials, and the jobs that try changes of a captured program."""

import msgspec
from fastapi import APIRouter
from inductorscope import urls
from inductorscope.answers.trials.trials import TrialsPage, trials_page
from inductorscope.formats.change import Change
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from inductorscope_server.access.rules import READS, RUNS_CODE
from inductorscope_server.api.bodies import STARTED, ImproveRequest, TrialRequest, started
from inductorscope_server.web import openapi
from inductorscope_server.web.errors import Refusal, documented
from inductorscope_server.web.ids import RunId
from inductorscope_server.web.parts import Reading, Shared

html = APIRouter(dependencies=[RUNS_CODE])
api = APIRouter(tags=[openapi.RUNS], dependencies=[READS])

ONE, SEARCH = "/runs/{run}/trials/one", "/runs/{run}/trials/search"


def load(session: Reading, run: RunId) -> TrialsPage:
    """What each change did to code, time and results, and what a search for changes found."""
    return trials_page(session, run)


@api.post(
    ONE,
    status_code=202,
    dependencies=[RUNS_CODE],
    summary="Try a change of a captured program",
    responses={**STARTED, **documented(403, 404, 422)},
)
def post_trial(parts: Shared, run: RunId, body: TrialRequest) -> Response:
    """Runs the program with and without the change, in fresh processes. Its files stay as they are.
    Only for runs captured here."""
    return started(parts.jobs.programs.try_change(run, body.title, read_change(body.change)))


@api.post(
    SEARCH,
    status_code=202,
    dependencies=[RUNS_CODE],
    summary="Search for changes that make a captured program faster",
    responses={**STARTED, **documented(403, 404, 422)},
)
def post_improvement(parts: Shared, run: RunId, body: ImproveRequest) -> Response:
    """Tries the changes of the catalogue, and joins those that help. Only for captured runs."""
    return started(parts.jobs.programs.search(run, body.minutes))


@html.post(ONE)
async def try_by_form(request: Request, parts: Shared, run: RunId) -> Response:
    """Starts the job and redirects to the page, which follows it."""
    async with request.form(max_files=0, max_fields=10) as form:
        body = TrialRequest.model_validate(
            {"title": form.get("title") or "", "change": _json(str(form.get("change") or ""))}
        )
    change = read_change(body.change)
    await run_in_threadpool(parts.jobs.programs.try_change, run, body.title, change)
    return RedirectResponse(urls.trials(run), 303)


@html.post(SEARCH)
async def search_by_form(request: Request, parts: Shared, run: RunId) -> Response:
    """Starts the job and redirects to the page, which follows it."""
    async with request.form(max_files=0, max_fields=10) as form:
        body = ImproveRequest.model_validate({"minutes": form.get("minutes") or 20})
    await run_in_threadpool(parts.jobs.programs.search, run, body.minutes)
    return RedirectResponse(urls.trials(run), 303)


def read_change(fields: dict[str, object]) -> Change:
    """Returns the change. Raises Refusal with a sentence."""
    try:
        change = msgspec.convert(fields, Change)
    except msgspec.ValidationError as error:
        raise Refusal(422, f"The change is not valid: {error}.") from None
    if problem := change.problem():
        raise Refusal(422, problem)
    return change


def _json(text: str) -> dict[str, object]:
    try:
        return msgspec.json.decode(text, type=dict[str, object])
    except msgspec.DecodeError:
        raise Refusal(422, "The change is not a JSON object.") from None
