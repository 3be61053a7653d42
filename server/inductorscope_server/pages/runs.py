"""The list of runs; a run, the progress of reading it, what was read, and its files."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query
from inductorscope import urls
from inductorscope.answers.parts import run_of
from inductorscope.answers.runs.file import FilePage, file_page
from inductorscope.answers.runs.read import ReadPage, read_page
from inductorscope.answers.runs.run import RunPage, run_page
from inductorscope.answers.runs.runs import Direction, Grouping, RunsPage, Sort, list_runs
from inductorscope.answers.runs.state import RunState, run_state
from inductorscope.answers.runs.watch import TAG, Watched, watched
from inductorscope.store.projects import leave_to_others
from inductorscope.store.runs.runs import rename_run
from inductorscope.store.tables.models import READING
from inductorscope.store.who import ADMINISTER, Who
from pydantic import ValidationError
from sqlalchemy.exc import StatementError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response

from inductorscope_server.access.rules import CHANGES, DELETES, OPEN, READS, who_of
from inductorscope_server.api.bodies import RunChange
from inductorscope_server.rendering.templating import web_folder
from inductorscope_server.web import openapi
from inductorscope_server.web.errors import Refusal
from inductorscope_server.web.ids import LARGEST, ArtifactId, Cursor, Line, RunId, text
from inductorscope_server.web.parts import Analysing, Parts, Reading, Shared

html = APIRouter()
api = APIRouter(tags=[openapi.RUNS])

Search = Annotated[Line, Query(description="Words in names, tags, versions and devices.")]
Device = Annotated[Line, Query(description="Kind of device: `cpu`, `cuda`, …")]
Script = Annotated[str, text("What a capture ran; else a run's name.", 4000)]
Key = Annotated[
    str, Path(description="Key that `inductorscope watch` printed.", pattern="^[0-9a-f]{12}$")
]
LineNumber = Annotated[
    int | None, Query(description="The line to show, with context.", ge=1, le=LARGEST)
]
LastLine = Annotated[
    int | None, Query(description="The last line of a marked range.", ge=1, le=LARGEST)
]


def load_runs(
    session: Reading,
    q: Search = "",
    sort: Sort = "created_at",
    order: Direction = "desc",
    device: Device = "",
    cursor: Cursor = None,
    tries: Annotated[bool, Query(description="Tries of the playground instead.")] = False,
    tag: Annotated[Line, Query(description="A whole tag.")] = "",
    script: Script = "",
    group: Annotated[Grouping, Query(description="The newest runs of each tag or script.")] = "",
) -> RunsPage:
    """The runs, searched, sorted and paged."""
    wrong = Refusal(422, "The cursor does not belong to this list.", do="Start again without it.")
    try:
        return list_runs(
            session, q=q, sort=sort, order=order, device=device or None, cursor=cursor,
            tries=tries, tag=tag, script=script, group=group,
        )  # fmt: skip
    except (ValueError, OverflowError) as error:
        raise wrong from error
    except StatementError as error:
        if cursor is None or not isinstance(error.orig, ValueError):
            raise
        raise wrong from error


async def load_run(analysis: Analysing, run: RunId) -> RunPage:
    return await analysis(run_page, run)


def load_state(session: Reading, run: RunId) -> RunState:
    return run_state(session, run)


def load_read(session: Reading, run: RunId) -> ReadPage:
    return read_page(session, run)


def load_file(
    session: Reading,
    run: RunId,
    artifact: ArtifactId,
    line: LineNumber = None,
    last: LastLine = None,
) -> FilePage:
    """A few hundred lines of a file around `line`; `/api/artifacts/{artifact}/text` returns any
    range."""
    return file_page(session, run, artifact, line, last)


def load_watched(session: Reading, key: Key) -> Watched:
    """The newest run of a watched folder."""
    return watched(session, key)


def lead_watched(page: Watched) -> str | None:
    """Leads to the newest run; until there is one, the page waits."""
    return None if page.run is None else urls.compile_story(page.run.id)


def show_state(
    request: Request,
    parts: Shared,
    page: Annotated[RunState, Depends(load_state)],
    graphs: Annotated[int, Query(ge=0, le=LARGEST)] = 0,
    lines: Annotated[bool, Query()] = False,
) -> Response:
    """Returns the part of a page that polls. The page reloads when there are new graphs and when
    reading is complete.

    `lines`: the page waits only for lines of kernels to be aligned.
    """
    answer = parts.pages.render(
        request, "fragments/_run_state.html", page, reading=page, shown_graphs=graphs
    )
    awaited = page.lines is not None if lines else page.state != "complete"
    if not awaited or page.graph_count > graphs:
        answer.headers["HX-Refresh"] = "true"
    answer.headers["Cache-Control"] = "no-store"
    return answer


def remove(parts: Parts, run: str, who: Who) -> None:
    """Deletes a run. If other people put it here too, they keep it."""
    if not who.may(ADMINISTER):
        with parts.write.begin() as session:
            if leave_to_others(session, run, who):
                return
    parts.jobs.trash_run(run)


@html.get("/sample", dependencies=[OPEN])
def show_sample() -> Response:
    """A run as one file, which the list shows while it is empty. The file has its own policy."""
    file = web_folder() / "sample.html"
    if not file.is_file():
        raise Refusal(404, "This installation has no sample.")
    framed = {"Content-Security-Policy": "frame-ancestors 'self'", "X-Frame-Options": "SAMEORIGIN"}
    return FileResponse(file, headers=framed)


@api.delete(
    "/runs/{run}",
    summary="Delete a run",
    dependencies=[DELETES],
    **openapi.answers(None, 403, 404, 507),
)
def delete(request: Request, parts: Shared, run: RunId) -> Response:
    """Moves a run to the trash. A run that is still being read is deleted for good, and its job
    cancelled."""
    remove(parts, run, who_of(request))
    answer = Response(status_code=204)
    if request.headers.get("hx-request") == "true":
        answer.headers["HX-Redirect"] = urls.runs()
    return answer


def change(parts: Parts, run_id: str, wanted: RunChange) -> None:
    """Renames and tags a run. Tags of `inductorscope watch` stay, because its address depends on
    them."""
    with parts.write.begin() as session:
        run = run_of(session, run_id)
        if run.state == READING:
            raise Refusal(409, "The run is still being read.", do="Rename it when it is complete.")
        watched = [str(tag) for tag in run.tags if str(tag).startswith(TAG)]
        tags = run.tags if wanted.tags is None else [*wanted.tags, *watched]
        rename_run(session, run, wanted.name or run.name, [str(tag) for tag in tags])


@api.get("/runs", include_in_schema=False, dependencies=[READS])
def list_at_its_noun(request: Request) -> Response:
    """Redirects to `/`, which lists the runs. People and older clients try this address too."""
    return RedirectResponse(urls.api("/") + f"?{request.url.query}".rstrip("?"), 308)


@api.patch(
    "/runs/{run}",
    summary="Rename or tag a run",
    dependencies=[CHANGES],
    **openapi.answers(None, 403, 404, 409, 422, 507),
)
def patch(parts: Shared, run: RunId, wanted: RunChange) -> Response:
    """Renames and tags the run. Search finds the new name and tags."""
    change(parts, run, wanted)
    return Response(status_code=204)


@html.post("/runs/{run}/name", dependencies=[CHANGES])
async def change_by_form(request: Request, parts: Shared, run: RunId) -> Response:
    """Renames and tags the run, and shows it; tags are separated by commas."""
    async with request.form(max_files=0, max_fields=2) as form:
        name, tags = str(form.get("name") or ""), str(form.get("tags") or "")
    try:
        wanted = RunChange(
            name=name.strip() or None,
            tags=[tag.strip() for tag in tags.split(",") if tag.strip()],
        )
    except ValidationError as error:
        raise Refusal(422, "Names and tags take up to 200 characters, on one line.") from error
    await run_in_threadpool(change, parts, run, wanted)
    if request.headers.get("hx-request") == "true":
        return Response(headers={"HX-Refresh": "true"})
    return RedirectResponse(urls.run(run), 303)


@html.post("/runs/{run}/delete", dependencies=[DELETES])
def delete_by_form(request: Request, parts: Shared, run: RunId) -> Response:
    """Deletes the run and redirects to the list."""
    remove(parts, run, who_of(request))
    return RedirectResponse(urls.runs(), 303)
