"""The search page: matching lines of code, kernels and runs."""

import re
from datetime import date
from typing import Annotated

from fastapi import Query
from inductorscope.answers.search.page import SearchPage, search_page
from inductorscope.answers.search.runs import Narrowed
from inductorscope.answers.search.search import CURSOR
from pydantic import BeforeValidator, WithJsonSchema

from inductorscope_server.web.ids import LARGEST, Line
from inductorscope_server.web.naming import SearchedRole
from inductorscope_server.web.parts import Reading

Words = Annotated[Line, Query(description="Text to search for in lines of code, kernels and runs.")]
InRun = Annotated[str, Query(description="Only this run.", pattern="^([0-9a-f]{16})?$")]
InFile = Annotated[
    int,
    Query(description="Only this stored file, with all its matches; 0 for any.", ge=0, le=LARGEST),
]
Torch = Annotated[Line, Query(description="Only runs of this version of torch: `2.13`.")]
Device = Annotated[Line, Query(description="Only runs on this device: `cuda`, `H200`.")]
InProject = Annotated[Line, Query(description="Only runs in this project.")]
Tag = Annotated[Line, Query(description="Only runs with this tag.")]


def _day(value: str | None) -> date | None:
    """Reads a form's day, None if empty. Pydantic alone would read a number as seconds."""
    if not value:
        return None
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value):
        raise ValueError("a day is written as 2026-11-24")
    return date.fromisoformat(value)


Day = Annotated[
    date | None,
    BeforeValidator(_day),
    WithJsonSchema({"anyOf": [{"type": "string", "format": "date"}, {"const": ""}]}),
    Query(description="Only runs from this day on (`since`) or until this day, in UTC."),
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
    torch: Torch = "",
    device: Device = "",
    project: InProject = "",
    tag: Tag = "",
    since: Day = None,
    until: Day = None,
    cursor: After = "",
) -> SearchPage:
    """Lines of sources, graphs, IR and generated code that contain `q`, ignoring case. If none
    does, lines that contain all its words. Words match by their beginning."""
    narrowed = Narrowed(run, torch, device, project=project, tag=tag, since=since, until=until)
    return search_page(session, q, narrowed, role, file, cursor)
