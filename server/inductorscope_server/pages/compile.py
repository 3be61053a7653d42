"""Compile: what compiling a run's program did, why, and what it cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Generic, Literal, TypeVar

from fastapi import APIRouter, Query
from inductorscope.answers.compile.fusing import FusingPage, fusing_page
from inductorscope.answers.compile.list import CompileList, Only, Sort, compile_list
from inductorscope.answers.compile.ranks import RanksPage, ranks_page
from inductorscope.answers.compile.stacks import StacksPage, stacks_page
from inductorscope.answers.compile.story import CompilePage, compile_page
from inductorscope.answers.compile.symbols import SymbolsPage, symbols_page
from inductorscope.answers.compile.time import CompileTimePage, compile_time_page
from sqlalchemy.orm import Session
from starlette.requests import Request
from starlette.responses import Response

from inductorscope_server.pages.run import no_run
from inductorscope_server.shapes.base import Line
from inductorscope_server.web import openapi
from inductorscope_server.web.errors import documented
from inductorscope_server.web.ids import RunId
from inductorscope_server.web.parts import Reading, Shared

html = APIRouter()
twin = APIRouter(tags=[openapi.RUNS])

Page = TypeVar("Page")
Words = Annotated[Line, Query(description="Words that id, function, file or outcome hold.")]
Node = Annotated[Line, Query(description="A node of the schedule, or of the post-grad graph.")]
Id = Annotated[Line, Query(description="A compile: its id, or # and its number in the run.")]
Order = Literal["asc", "desc"]
Number = Annotated[int, Query(description="Which page, from 1.", ge=1, le=1_000_000)]


@dataclass(frozen=True, slots=True)
class Part(Generic[Page]):
    """A page and its twin that ask nothing but which run: where, the query, the template, words."""

    path: str
    query: Callable[[Session, str], Page | None]
    of: type[Page]
    template: str
    summary: str
    description: str


PARTS: tuple[Part[Any], ...] = (
    Part(
        "", compile_page, CompilePage, "compile.html", "What compiling did",
        "In words, with graph breaks, recompiles, failures and caches.",
    ),
    Part(
        "/stacks", stacks_page, StacksPage, "compile_stacks.html", "Where compiles start",
        "The stacks of all compiles as one tree.",
    ),
    Part(
        "/symbols", symbols_page, SymbolsPage, "compile_symbols.html", "Symbolic sizes",
        "Symbols, where they came from, and what was demanded of them.",
    ),
    Part(
        "/ranks", ranks_page, RanksPage, "compile_ranks.html", "Ranks compared",
        "Each rank beside the first: time, graphs, and what differs.",
    ),
)  # fmt: skip


def load(run: str, found: Page | None) -> Page:
    if found is None:
        raise no_run(run)
    return found


def add(part: Part[Any]) -> None:
    """Both routes of a page that asks nothing but which run."""

    def get(session: Reading, run: RunId) -> object:
        return load(run, part.query(session, run))

    def show(request: Request, parts: Shared, session: Reading, run: RunId) -> Response:
        return parts.pages.render(request, part.template, load(run, part.query(session, run)))

    path = f"/runs/{{run}}/compile{part.path}"
    name = f"compile{part.path}".replace("/", "_")
    twin.add_api_route(
        path, get, summary=part.summary, description=part.description, name=f"get_{name}",
        response_model=part.of, responses=documented(404),
    )  # fmt: skip
    html.add_api_route(path, show, name=f"show_{name}")


for one in PARTS:
    add(one)


@twin.get("/runs/{run}/compile/list", summary="Compiles of a run", responses=documented(404, 422))
def get_compile_list(
    session: Reading,
    run: RunId,
    q: Words = "",
    only: Only = "",
    sort: Sort = "number",
    order: Order = "asc",
    page: Number = 1,
) -> CompileList:
    """Filtered, sorted, a page at a time."""
    return load(run, compile_list(session, run, q, only, sort, order, page))


@html.get("/runs/{run}/compile/list")
def show_compile_list(
    request: Request,
    parts: Shared,
    session: Reading,
    run: RunId,
    q: Words = "",
    only: Only = "",
    sort: Sort = "number",
    order: Order = "asc",
    page: Number = 1,
) -> Response:
    found = load(run, compile_list(session, run, q, only, sort, order, page))
    return parts.pages.render(
        request, "compile_list.html", found, fragment="fragments/_compile_list.html"
    )


@twin.get("/runs/{run}/compile/time", summary="Compile time", responses=documented(404, 422))
def get_compile_time(session: Reading, run: RunId, a: Id = "", b: Id = "") -> CompileTimePage:
    """Phases over time and by name, kernels, autotuning; of `a` and `b` beside each other."""
    return load(run, compile_time_page(session, run, a, b))


@html.get("/runs/{run}/compile/time")
def show_compile_time(
    request: Request, parts: Shared, session: Reading, run: RunId, a: Id = "", b: Id = ""
) -> Response:
    page = load(run, compile_time_page(session, run, a, b))
    return parts.pages.render(request, "compile_time.html", page)


@twin.get("/runs/{run}/compile/fusing", summary="Fusing", responses=documented(404, 422))
def get_fusing(
    session: Reading, run: RunId, q: Words = "", a: Node = "", b: Node = ""
) -> FusingPage:
    """Pairs of nodes that were tried, with why they were not fused; asked of `a` and `b`."""
    return load(run, fusing_page(session, run, q, a, b))


@html.get("/runs/{run}/compile/fusing")
def show_fusing(
    request: Request,
    parts: Shared,
    session: Reading,
    run: RunId,
    q: Words = "",
    a: Node = "",
    b: Node = "",
) -> Response:
    page = load(run, fusing_page(session, run, q, a, b))
    return parts.pages.render(request, "compile_fusing.html", page)
