"""Search: lines of code, kernels and runs that hold what was asked for."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from inductorscope.answers.search.page import SearchPage, search_page
from inductorscope.answers.search.search import CURSOR

from inductorscope_server.web.ids import LARGEST, Line
from inductorscope_server.web.naming import SearchedRole
from inductorscope_server.web.parts import Reading

Words = Annotated[Line, Query(description="What lines of code, kernels and runs are to hold.")]
InRun = Annotated[str, Query(description="Only this run.", pattern="^([0-9a-f]{16})?$")]
InFile = Annotated[
    int, Query(description="Only this stored file, all lines of it; 0 for any.", ge=0, le=LARGEST)
]
After = Annotated[
    str, Query(description="`next_cursor` of the page before.", pattern=f"^({CURSOR})?$")
]


def load(
    session: Reading,
    q: Words = "",
    run: InRun = "",
    role: SearchedRole = "",
    file: InFile = 0,
    cursor: After = "",
) -> SearchPage:
    """Lines of sources, graphs, IR and generated code that hold `q`, in upper or lower case; where
    none holds it as it stands, lines that hold all its words. Words match from their beginning."""
    return search_page(session, q, run, role, file, cursor)
