"""Log: what the TORCH_TRACE logs of a run hold, by kind, by compile and record by record."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from inductorscope.answers.logs.log import Chosen
from inductorscope.answers.logs.log import log_page as query
from starlette.requests import Request
from starlette.responses import Response

from inductorscope_server.pages.run import no_run
from inductorscope_server.shapes.log import LogPage
from inductorscope_server.web import openapi
from inductorscope_server.web.errors import documented
from inductorscope_server.web.ids import LARGEST, RunId
from inductorscope_server.web.parts import Reading, Shared

html = APIRouter()
twin = APIRouter(tags=[openapi.RUNS])

PLAIN = r"^[^\x00-\x1f]*$"
Log = Annotated[str, Query(description="Path of a log.", max_length=4096, pattern=PLAIN)]
CompileId = Annotated[
    str, Query(description="Such as `0/1`; `-` for none.", max_length=200, pattern=PLAIN)
]
Kind = Annotated[
    str, Query(description="Kind, or `artifact:NAME`.", max_length=1000, pattern=PLAIN)
]
Rank = Annotated[str, Query(description="Rank of the process.", pattern="^[0-9]{0,9}$")]
After = Annotated[
    int, Query(description="`next_cursor` of the page before; 0 for the first.", ge=0, le=LARGEST)
]


def _chosen(log: Log = "", compile: CompileId = "", kind: Kind = "", rank: Rank = "") -> Chosen:
    return Chosen(log, compile.strip(), kind, int(rank) if rank else None)


Asked = Annotated[Chosen, Depends(_chosen)]


def load(session: Reading, run: str, chosen: Chosen, cursor: int) -> LogPage:
    found = query(session, run, chosen, cursor)
    if found is None:
        raise no_run(run)
    return LogPage.model_validate(found)


@twin.get("/runs/{run}/log", summary="Records of a run's logs", responses=documented(404, 422))
def get_log(session: Reading, run: RunId, chosen: Asked, cursor: After = 0) -> LogPage:
    """Kinds and compiles, and the records that match, a page at a time in the log's order."""
    return load(session, run, chosen, cursor)


@html.get("/runs/{run}/log")
def log_page(
    request: Request,
    parts: Shared,
    session: Reading,
    run: RunId,
    chosen: Asked,
    cursor: After = 0,
) -> Response:
    return parts.pages.render(request, "log.html", load(session, run, chosen, cursor))
