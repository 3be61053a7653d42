"""The search page: matching lines of code, kernels and runs."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from inductorscope.answers.search.page import SearchPage, search_page
from inductorscope.answers.search.search import CURSOR

from inductorscope_server.web.ids import LARGEST, Line
from inductorscope_server.web.naming import SearchedRole
from inductorscope_server.web.parts import Reading

Words = Annotated[Line, Query(description="Text to search for in lines of code, kernels and runs.")]
InRun = Annotated[str, Query(description="Only this run.", pattern="^([0-9a-f]{16})?$")]
InFile = Annotated[
    int,
    Query(description="Only this stored file, with all its matches; 0 for any.", ge=0, le=LARGEST),
]
After = Annotated[
    str, Query(description="`next_cursor` of the previous page.", pattern=f"^({CURSOR})?$")
]


def load(
    session: Reading,
    q: Words = "",
    run: InRun = "",
    role: SearchedRole = "",
    file: InFile = 0,
    cursor: After = "",
) -> SearchPage:
    """Lines of sources, graphs, IR and generated code that contain `q`, ignoring case. If none
    does, lines that contain all its words. Words match by their beginning."""
    return search_page(session, q, run, role, file, cursor)
