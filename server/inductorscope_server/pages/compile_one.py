"""One compile with all it left in the log, and two texts of a run beside each other."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query
from inductorscope.answers.compile.diff import DiffPage, diff_page
from inductorscope.answers.compile.one import CompileOnePage, compile_one_page
from inductorscope.store.tables.models import Run
from sqlalchemy.orm import Session
from starlette.requests import Request
from starlette.responses import Response

from inductorscope_server.pages.run import no_run
from inductorscope_server.web import openapi
from inductorscope_server.web.errors import NotHere, documented
from inductorscope_server.web.ids import LARGEST, RunId
from inductorscope_server.web.parts import Reading, Shared

html = APIRouter()
twin = APIRouter(tags=[openapi.RUNS])

Number = Annotated[
    int, Path(description="Which compile of the run, from 0, as logged.", ge=0, le=10_000_000)
]
Artifact = Annotated[int, Query(description="Number of a stored file.", ge=1, le=LARGEST)]
Plain = Annotated[
    int, Query(description="1: addresses and temporary names do not count.", ge=0, le=1)
]


def load(session: Session, run: str, number: int) -> CompileOnePage:
    found = compile_one_page(session, run, number)
    if found is not None:
        return found
    if session.get(Run, run) is None:
        raise no_run(run)
    raise NotHere(
        f"Run {run} has no compile number {number}.", "The list of its compiles has all there are."
    )


def load_diff(session: Session, run: str, a: int, b: int, plain: int) -> DiffPage:
    found = diff_page(session, run, a, b, without_noise=bool(plain))
    if found is not None:
        return found
    if session.get(Run, run) is None:
        raise no_run(run)
    raise NotHere(
        f"Run {run} does not hold both of the files {a} and {b}.",
        "Choose two texts on the page of a compile.",
    )


@twin.get("/runs/{run}/compile/diff", summary="Two texts compared", responses=documented(404, 422))
def get_diff(session: Reading, run: RunId, a: Artifact, b: Artifact, plain: Plain = 0) -> DiffPage:
    """Changed lines with some around them."""
    return load_diff(session, run, a, b, plain)


@html.get("/runs/{run}/compile/diff")
def show_diff(
    request: Request,
    parts: Shared,
    session: Reading,
    run: RunId,
    a: Artifact,
    b: Artifact,
    plain: Plain = 0,
) -> Response:
    page = load_diff(session, run, a, b, plain)
    return parts.pages.render(request, "compile_diff.html", page)


@twin.get("/runs/{run}/compile/{number}", summary="A compile", responses=documented(404, 422))
def get_compile_one(session: Reading, run: RunId, number: Number) -> CompileOnePage:
    """What became of it, its records in order, guards, symbols, phases and figures."""
    return load(session, run, number)


@html.get("/runs/{run}/compile/{number}")
def show_compile_one(
    request: Request, parts: Shared, session: Reading, run: RunId, number: Number
) -> Response:
    return parts.pages.render(request, "compile_one.html", load(session, run, number))
