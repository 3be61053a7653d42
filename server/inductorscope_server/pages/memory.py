"""Memory: the plan of a graph's wrapper, its peak, and the lives of buffers."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from inductorscope.answers.memory.memory import KINDS
from inductorscope.answers.memory.memory import memory_page as query
from starlette.requests import Request
from starlette.responses import Response

from inductorscope_server.shapes.memory import MemoryPage
from inductorscope_server.web import openapi
from inductorscope_server.web.errors import NotHere, documented
from inductorscope_server.web.ids import LARGEST, RunId, Slug
from inductorscope_server.web.parts import Reading, Shared

html = APIRouter()
twin = APIRouter(tags=[openapi.GRAPHS])

PATH = "/runs/{run}/graphs/{slug}/memory"

Kind = Annotated[
    Literal["", "allocate", "reuse", "free", "reinterpret", "unpack", "copy", "call",
            "extern_call", "input", "return", "other"],
    Query(description="Only lines of this kind."),
]  # fmt: skip
Sort = Annotated[
    Literal["size", "born", "life", "uses"],
    Query(description="Order of buffers: largest, first, longest held, most used."),
]
First = Annotated[int, Query(description="How many to pass over.", ge=0, le=LARGEST)]


def load(
    session: Reading, run: str, slug: str, kind: str, order: Sort, lines_from: int,
    buffers_from: int,
) -> MemoryPage:  # fmt: skip
    found = query(
        session, run, slug, kind=kind, order=order, lines_from=lines_from,
        buffers_from=buffers_from,
    )  # fmt: skip
    if found is None:
        raise NotHere(f"Run {run} has no graph {slug}.", f"Its graphs are listed at /runs/{run}.")
    return MemoryPage.model_validate(found)


@twin.get(PATH, summary="What a graph's wrapper does to memory", responses=documented(404, 422))
def get_memory(
    session: Reading, run: RunId, slug: Slug, kind: Kind = "", order: Sort = "size",
    lines_from: First = 0, buffers_from: First = 0,
) -> MemoryPage:  # fmt: skip
    return load(session, run, slug, kind, order, lines_from, buffers_from)


@html.get(PATH)
def memory_page(
    request: Request, parts: Shared, session: Reading, run: RunId, slug: Slug, kind: Kind = "",
    order: Sort = "size", lines_from: First = 0, buffers_from: First = 0,
) -> Response:  # fmt: skip
    page = load(session, run, slug, kind, order, lines_from, buffers_from)
    return parts.pages.render(request, "memory.html", page, kinds=KINDS)
