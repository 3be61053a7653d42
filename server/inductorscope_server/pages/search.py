"""Search: lines of code, kernels and runs that hold what was asked for."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from inductorscope.answers.parts import run_name
from inductorscope.answers.runs.runs import list_runs
from inductorscope.answers.search import search as code
from inductorscope.answers.search.names import KernelHit, kernels_named
from inductorscope.answers.search.places import TextPlace
from inductorscope.formats.vocabulary import ROLE_TITLES, SEARCHED
from inductorscope.store.tables.models import Artifact, Run
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.requests import Request
from starlette.responses import Response

from inductorscope_server.shapes.base import Line, RunName
from inductorscope_server.shapes.search import (
    FileName,
    KernelFound,
    LineFound,
    PlaceFound,
    RoleChoice,
    RunFound,
    SearchPage,
    TextFound,
)
from inductorscope_server.web import openapi, urls
from inductorscope_server.web.errors import documented
from inductorscope_server.web.ids import LARGEST
from inductorscope_server.web.naming import SearchedRole
from inductorscope_server.web.parts import Reading, Shared

html = APIRouter()
twin = APIRouter(tags=[openapi.RUNS])

SHOWN_RUNS = 5
SHOWN_KERNELS = 10

Words = Annotated[Line, Query(description="What lines of code, kernels and runs are to hold.")]
InRun = Annotated[str, Query(description="Only this run.", pattern="^([0-9a-f]{16})?$")]
InFile = Annotated[
    int, Query(description="Only this stored file, all lines of it; 0 for any.", ge=0, le=LARGEST)
]
After = Annotated[
    str, Query(description="`next_cursor` of the page before.", pattern=f"^({code.CURSOR})?$")
]


def load(session: Session, q: str, run: str, role: str, file: int, cursor: str) -> SearchPage:
    q = q.strip()
    scope = code.Scope(run or None, role or None, file or None)
    found = code.search_code(session, q, scope, cursor or None)
    texts = [_text(text) for text in found.texts]
    names = not cursor and not file and bool(q)
    runs = list_runs(session, q=q, limit=SHOWN_RUNS) if names and not run else None
    kernels = kernels_named(session, q, run or None, SHOWN_KERNELS + 1) if names else []
    named = run_name(session, run) if run else None
    return SearchPage(
        q=q,
        too_short=code.too_short(q),
        run=RunName.model_validate(named) if named else None,
        role=role,
        file=_file(session, file),
        roles=[RoleChoice(role=each, title=ROLE_TITLES[each]) for each in SEARCHED],
        runs=[RunFound.model_validate(each) for each in runs.runs] if runs else [],
        more_runs=runs is not None and runs.next_cursor is not None,
        kernels=[_kernel(kernel) for kernel in kernels[:SHOWN_KERNELS]],
        more_kernels=len(kernels) > SHOWN_KERNELS,
        texts=texts,
        exact=found.exact,
        line_count=sum(len(text.hits) for text in texts),
        looked_at=found.looked_at,
        next_cursor=found.next_cursor,
        any_runs=session.scalar(select(Run.id).limit(1)) is not None,
    )


def _file(session: Session, artifact: int) -> FileName | None:
    query = select(Artifact.path, Run.id, Run.name).join(Run, Run.id == Artifact.run_id)
    row = session.execute(query.where(Artifact.id == artifact)).one_or_none()
    if row is None:
        return None
    return FileName(artifact=artifact, path=row.path, run=RunName(id=row.id, name=row.name))


def _kernel(kernel: KernelHit) -> KernelFound:
    url = None
    if kernel.handle is not None:
        url = urls.kernel(kernel.run.id, kernel.graph, kernel.name, kernel.handle)
    values = {name: getattr(kernel, name) for name in kernel.__slots__}
    return KernelFound.model_validate({**values, "url": url})


def _text(text: code.TextHits) -> TextFound:
    place = text.places.place
    return TextFound(
        place=_place(place),
        title=ROLE_TITLES.get(place.role, place.role),
        hits=[
            LineFound(
                line=hit.line,
                text=hit.text,
                marks=hit.marks,
                kernel=hit.place.kernel,
                url=_line_url(place, hit),
            )
            for hit in text.hits
        ],
        more=text.more,
        elsewhere=[_place(other) for other in text.places.elsewhere],
        other_graphs=text.places.other_graphs,
        other_runs=text.places.other_runs,
    )


def _place(place: TextPlace) -> PlaceFound:
    values = {name: getattr(place, name) for name in place.__slots__}
    return PlaceFound.model_validate({**values, "url": urls.file(place.run.id, place.artifact)})


def _line_url(place: TextPlace, hit: code.Hit) -> str:
    where = hit.place
    if where.graph is None or where.stage is None:
        return urls.file(place.run.id, place.artifact, line=hit.line)
    return urls.line_in_explorer(
        place.run.id,
        where.graph,
        where.stage,
        hit.line,
        path=place.path if where.stage == "source" else None,
        kernel=where.kernel,
        handle=where.handle,
    )


@twin.get("/search", summary="Search code, kernels and runs", responses=documented(422))
def search(
    session: Reading,
    q: Words = "",
    run: InRun = "",
    role: SearchedRole = "",
    file: InFile = 0,
    cursor: After = "",
) -> SearchPage:
    """Lines of sources, graphs, IR and generated code that hold `q`, whatever its case; where none
    holds it as it stands, lines that hold all its words. Words are found by their beginning."""
    return load(session, q, run, role, file, cursor)


@html.get("/search")
def search_page(
    request: Request,
    parts: Shared,
    session: Reading,
    q: Words = "",
    run: InRun = "",
    role: SearchedRole = "",
    file: InFile = 0,
    cursor: After = "",
) -> Response:
    page = load(session, q, run, role, file, cursor)
    return parts.pages.render(request, "search.html", page)
