"""The atlas: a survey of programs and torches."""

from typing import Annotated

from fastapi import APIRouter, Query
from inductorscope import urls
from inductorscope.survey.beside import Beside, beside_page
from inductorscope.survey.cells import cells_of, survey_named
from inductorscope.survey.events import badge, feed
from inductorscope.survey.page import Atlas, atlas_page
from starlette.requests import Request
from starlette.responses import Response

from inductorscope_server.access.rules import READS
from inductorscope_server.web.ids import Line, RunId
from inductorscope_server.web.parts import Analysing, Reading

html = APIRouter(dependencies=[READS])
api = APIRouter()

OfSurvey = Annotated[Line, Query(description="Name of the survey; without one, the newest.")]
OfFigure = Annotated[Line, Query(description="A count of a lock; without one, kernels.")]
OfProgram = Annotated[Line, Query(description="Show all figures of this program.")]


def load(
    session: Reading, name: OfSurvey = "", figure: OfFigure = "", program: OfProgram = ""
) -> Atlas:
    """A figure of each program with each torch, and what changed from one torch to the next."""
    return atlas_page(session, name, figure, program)


async def load_beside(analysis: Analysing, run: RunId, name: OfSurvey = "") -> Beside:
    """The programs of a survey whose graphs have the most operations in common with the run's."""
    return await analysis(beside_page, run, name)


@html.get(urls.atlas(".atom"))
def events(request: Request, session: Reading, name: OfSurvey = "") -> Response:
    """The events as an Atom feed."""
    page = atlas_page(session, name)
    text = feed(page.name, page.events, str(request.base_url).rstrip("/"))
    return Response(text, media_type="application/atom+xml; charset=utf-8")


@html.get(urls.atlas("/badge.svg"))
def badge_of(
    session: Reading, program: Line, name: OfSurvey = "", device: Line = "", mode: Line = ""
) -> Response:
    """What the newest torch compiles a program to, for a README."""
    text = badge(cells_of(session, survey_named(session, name)[0]), program, device, mode)
    return Response(text, media_type="image/svg+xml")
