"""Compile: what compiling a run's program did, why, and what it cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal, TypeVar

from fastapi import APIRouter, Query
from inductorscope.store.queries.compile import CompilePage, compile_page
from inductorscope.store.queries.compile_fusing import FusingPage, fusing_page
from inductorscope.store.queries.compile_list import CompileList, Only, Sort, compile_list
from inductorscope.store.queries.compile_ranks import RanksPage, ranks_page
from inductorscope.store.queries.compile_stacks import StacksPage, stacks_page
from inductorscope.store.queries.compile_symbols import SymbolsPage, symbols_page
from inductorscope.store.queries.compile_time import CompileTimePage, compile_time_page
from sqlalchemy.orm import Session
from starlette.requests import Request
from starlette.responses import Response

from .. import openapi
from ..errors import documented
from ..ids import RunId
from ..parts import Reading, Shared
from ..shapes.base import Line
from .run import no_run

html = APIRouter()
twin = APIRouter(tags=[openapi.RUNS])

Page = TypeVar("Page")
Words = Annotated[Line, Query(description="Words that id, function, file or outcome hold.")]
Node = Annotated[Line, Query(description="A node of the schedule, or of the post-grad graph.")]
Order = Literal["asc", "desc"]
Number = Annotated[int, Query(description="Which page, from 1.", ge=1, le=1_000_000)]


def load(query: Callable[[Session, str], Page | None], session: Session, run: str) -> Page:
    found = query(session, run)
    if found is None:
        raise no_run(run)
    return found


def load_list(
    session: Session, run: str, q: str, only: Only, sort: Sort, order: Order, page: int
) -> CompileList:
    found = compile_list(session, run, q, only, sort, order, page)
    if found is None:
        raise no_run(run)
    return found


@twin.get("/runs/{run}/compile", summary="What compiling did", responses=documented(404))
def get_compile(session: Reading, run: RunId) -> CompilePage:
    """In words, with graph breaks, recompiles, failures and caches."""
    return load(compile_page, session, run)


@html.get("/runs/{run}/compile")
def show_compile(request: Request, parts: Shared, session: Reading, run: RunId) -> Response:
    return parts.pages.render(request, "compile.html", load(compile_page, session, run))


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
    return load_list(session, run, q, only, sort, order, page)


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
    found = load_list(session, run, q, only, sort, order, page)
    return parts.pages.render(
        request, "compile_list.html", found, fragment="fragments/_compile_list.html"
    )


@twin.get("/runs/{run}/compile/time", summary="Compile time", responses=documented(404))
def get_compile_time(session: Reading, run: RunId) -> CompileTimePage:
    """Phases over time and by name, kernels, autotuning."""
    return load(compile_time_page, session, run)


@html.get("/runs/{run}/compile/time")
def show_compile_time(request: Request, parts: Shared, session: Reading, run: RunId) -> Response:
    return parts.pages.render(request, "compile_time.html", load(compile_time_page, session, run))


@twin.get("/runs/{run}/compile/stacks", summary="Where compiles start", responses=documented(404))
def get_stacks(session: Reading, run: RunId) -> StacksPage:
    """The stacks of all compiles as one tree."""
    return load(stacks_page, session, run)


@html.get("/runs/{run}/compile/stacks")
def show_stacks(request: Request, parts: Shared, session: Reading, run: RunId) -> Response:
    return parts.pages.render(request, "compile_stacks.html", load(stacks_page, session, run))


@twin.get("/runs/{run}/compile/symbols", summary="Symbolic sizes", responses=documented(404))
def get_symbols(session: Reading, run: RunId) -> SymbolsPage:
    """Symbols, where they came from, and what was demanded of them."""
    return load(symbols_page, session, run)


@html.get("/runs/{run}/compile/symbols")
def show_symbols(request: Request, parts: Shared, session: Reading, run: RunId) -> Response:
    return parts.pages.render(request, "compile_symbols.html", load(symbols_page, session, run))


@twin.get("/runs/{run}/compile/fusing", summary="Fusing", responses=documented(404, 422))
def get_fusing(
    session: Reading, run: RunId, q: Words = "", a: Node = "", b: Node = ""
) -> FusingPage:
    """Pairs of nodes that were tried, with why they were not fused; asked of `a` and `b`."""
    return load(lambda session, run: fusing_page(session, run, q, a, b), session, run)


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
    page = load(lambda session, run: fusing_page(session, run, q, a, b), session, run)
    return parts.pages.render(request, "compile_fusing.html", page)


@twin.get("/runs/{run}/compile/ranks", summary="Ranks compared", responses=documented(404))
def get_ranks(session: Reading, run: RunId) -> RanksPage:
    """Each rank beside the first: time, graphs, and what differs."""
    return load(ranks_page, session, run)


@html.get("/runs/{run}/compile/ranks")
def show_ranks(request: Request, parts: Shared, session: Reading, run: RunId) -> Response:
    return parts.pages.render(request, "compile_ranks.html", load(ranks_page, session, run))
