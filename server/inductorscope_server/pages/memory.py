"""The memory page: the plan of a graph's wrapper, its peak, and the lifetimes of buffers."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query
from inductorscope.answers.memory.memory import Kind, MemoryPage, Order, memory_page

from inductorscope_server.web.ids import First, RunId, Slug
from inductorscope_server.web.parts import Analysing

OfKind = Annotated[Literal[""] | Kind, Query(description="Only lines of this kind.")]
Sort = Annotated[
    Order, Query(description="Order of buffers: largest, first, longest held, most used.")
]


async def load(
    analysis: Analysing, run: RunId, slug: Slug, kind: OfKind = "", order: Sort = "size",
    lines_from: First = 0, buffers_from: First = 0,
) -> MemoryPage:  # fmt: skip
    return await analysis(
        memory_page, run, slug, kind=kind, order=order, lines_from=lines_from,
        buffers_from=buffers_from,
    )  # fmt: skip
