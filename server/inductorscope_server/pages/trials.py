"""The page of trials, and the jobs that try changes of a captured program."""

from typing import Annotated

import msgspec
from fastapi import APIRouter, Form
from inductorscope import urls
from inductorscope.answers.trials.trials import TrialsPage, trials_page
from inductorscope.formats.change import Change
from pydantic import Json
from starlette.responses import RedirectResponse, Response

from inductorscope_server.access.rules import READS, RUNS_CODE
from inductorscope_server.api.bodies import ImproveRequest, TrialRequest, started, starts
from inductorscope_server.web import openapi
from inductorscope_server.web.errors import Refusal
from inductorscope_server.web.ids import Line, RunId
from inductorscope_server.web.parts import Reading, Shared

html = APIRouter(dependencies=[RUNS_CODE])
api = APIRouter(tags=[openapi.RUNS], dependencies=[READS])

ONE, SEARCH = "/runs/{run}/trials/one", "/runs/{run}/trials/search"


def load(session: Reading, run: RunId) -> TrialsPage:
    """What each change did to code, time and results, and what a search for changes found."""
    return trials_page(session, run)


@api.post(
    ONE, dependencies=[RUNS_CODE], summary="Try a change of a captured program", **starts(404, 422)
)
def post_trial(parts: Shared, run: RunId, body: TrialRequest) -> Response:
    """Runs the program with and without the change, in fresh processes. Its files stay as they are.
    Only for runs captured here."""
    return started(parts.jobs.programs.try_change(run, body.title, read_change(body.change)))


@api.post(
    SEARCH,
    dependencies=[RUNS_CODE],
    summary="Search for changes that make a captured program faster",
    **starts(404, 422),
)
def post_improvement(parts: Shared, run: RunId, body: ImproveRequest) -> Response:
    """Tries the changes of the catalogue, and joins those that help. Only for captured runs."""
    return started(parts.jobs.programs.search(run, body.minutes))


@html.post(ONE)
def try_by_form(
    parts: Shared,
    run: RunId,
    title: Annotated[Line, Form(min_length=1)],
    change: Annotated[Json[dict[str, object]], Form()],
) -> Response:
    """Starts the job and redirects to the page, which follows it."""
    parts.jobs.programs.try_change(run, title, read_change(change))
    return RedirectResponse(urls.trials(run), 303)


@html.post(SEARCH)
def search_by_form(
    parts: Shared, run: RunId, minutes: Annotated[float, Form(gt=0, le=600)] = 20.0
) -> Response:
    """Starts the job and redirects to the page, which follows it."""
    parts.jobs.programs.search(run, minutes)
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
