"""File: lines of a stored file, for links to a place in it; of any size."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from inductorscope.answers.runs.file import file_page as query
from starlette.requests import Request
from starlette.responses import Response

from inductorscope_server.shapes.read_file import FilePage
from inductorscope_server.web import openapi
from inductorscope_server.web.errors import NotHere, documented
from inductorscope_server.web.ids import LARGEST, ArtifactId, RunId
from inductorscope_server.web.parts import Reading, Shared

html = APIRouter()
twin = APIRouter(tags=[openapi.FILES])

PATH = "/runs/{run}/files/{artifact}"

LineNumber = Annotated[
    int | None, Query(description="The line to show, with some around it.", ge=1, le=LARGEST)
]
LastLine = Annotated[
    int | None, Query(description="The last line of a range that is marked.", ge=1, le=LARGEST)
]


def load(session: Reading, run: str, artifact: int, line: int | None, last: int | None) -> FilePage:
    found = query(session, run, artifact, line, last)
    if found is None:
        raise NotHere(
            f"Run {run} has no stored file {artifact}.",
            f"Its files are listed at /runs/{run}/read.",
        )
    return FilePage.model_validate(found)


@twin.get(PATH, summary="Lines of a stored file", responses=documented(404, 422))
def get_file(
    session: Reading,
    run: RunId,
    artifact: ArtifactId,
    line: LineNumber = None,
    last: LastLine = None,
) -> FilePage:
    """A few hundred lines around `line`; `/api/artifacts/{artifact}/text` gives any range."""
    return load(session, run, artifact, line, last)


@html.get(PATH)
def file_page(
    request: Request,
    parts: Shared,
    session: Reading,
    run: RunId,
    artifact: ArtifactId,
    line: LineNumber = None,
    last: LastLine = None,
) -> Response:
    page = load(session, run, artifact, line, last)
    return parts.pages.render(request, "read_file.html", page)
