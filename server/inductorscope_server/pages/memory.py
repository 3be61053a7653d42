"""The memory page: the plan of a graph's wrapper, its peak, and the lifetimes of buffers."""

from inductorscope import urls
from inductorscope.answers.memory.memory import MemoryPage, memory_page
from inductorscope.answers.parts import RunGraphs

from inductorscope_server.web.ids import First, RunId, Slug
from inductorscope_server.web.parts import Analysing


def lead_first(page: RunGraphs) -> str | None:
    """Leads to the first graph; without one, the page says how to get one."""
    return urls.memory(page.run.id, page.graphs[0].slug) if page.graphs else None


async def load(
    analysis: Analysing, run: RunId, slug: Slug, lines_from: First = 0, buffers_from: First = 0
) -> MemoryPage:
    return await analysis(memory_page, run, slug, lines_from=lines_from, buffers_from=buffers_from)
