"""The memory page: the plan of a graph's wrapper, its peak, and the lifetimes of buffers."""

from typing import Annotated

from fastapi import Depends
from inductorscope import urls
from inductorscope.answers.memory.memory import MemoryPage, memory_page
from inductorscope.answers.parts import RunGraphs
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from inductorscope_server.pages.explorer import load_graphs
from inductorscope_server.web.ids import First, RunId, Slug
from inductorscope_server.web.parts import Analysing, Shared


def show_first(
    request: Request, parts: Shared, page: Annotated[RunGraphs, Depends(load_graphs)]
) -> Response:
    """Redirects to the first graph; without one, shows a page that says how to get one."""
    if page.graphs:
        return RedirectResponse(urls.memory(page.run.id, page.graphs[0].slug), 302)
    return parts.pages.render(request, "no_graph.html", page)


async def load(
    analysis: Analysing, run: RunId, slug: Slug, lines_from: First = 0, buffers_from: First = 0
) -> MemoryPage:
    return await analysis(memory_page, run, slug, lines_from=lines_from, buffers_from=buffers_from)
