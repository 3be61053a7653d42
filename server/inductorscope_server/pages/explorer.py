"""Explorer: all stages of one graph side by side, and the links between their lines."""

from __future__ import annotations

from collections import defaultdict
from typing import Annotated

import zstandard
from fastapi import APIRouter, Depends, Query
from inductorscope.answers.explorer.graph import Explorer as Found
from inductorscope.answers.explorer.graph import explorer as query
from inductorscope.answers.explorer.graph import explorer_stamp, graphs_of, links_payload
from inductorscope.answers.parts import graph_of, run_name
from inductorscope.answers.time.lines import LineTime, line_times
from inductorscope.formats.vocabulary import OPENED
from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from inductorscope_server.pages.run import no_run
from inductorscope_server.shapes.explorer import (
    Explorer,
    ExplorerHead,
    ExplorerPage,
    ExplorerState,
    FileHeat,
    Heat,
    Links,
)
from inductorscope_server.web import openapi
from inductorscope_server.web.answers import AcceptEncoding, IfNoneMatch, takes_zstd, whole, written
from inductorscope_server.web.blobs import packed_json
from inductorscope_server.web.errors import NotHere, documented
from inductorscope_server.web.ids import RunId, Slug
from inductorscope_server.web.parts import Reading, Shared

html = APIRouter()
twin = APIRouter(prefix="/runs/{run}/graphs/{slug}", tags=[openapi.GRAPHS])

NO_LINKS = Links(engine="", entities=[], stages={})
PANES = ",".join(OPENED)
State = Annotated[str, Query(max_length=2000, pattern=r"^[^\x00-\x1f]*$")]


def no_graph(run: str, slug: str) -> NotHere:
    return NotHere(f"Run {run} has no graph {slug}.", f"Its graphs are listed at /runs/{run}.")


def found_graph(session: Reading, run: str, slug: str) -> Found:
    """What the explorer of a graph shows; refuses where there is none."""
    found = query(session, run, slug)
    if found is None:
        raise _missing(session, run, slug)
    return found


def load(session: Reading, run: str, slug: str) -> Explorer:
    return Explorer.model_validate(found_graph(session, run, slug))


def load_page(session: Reading, run: str, slug: str, state: ExplorerState) -> ExplorerPage:
    explorer = load(session, run, slug)
    graphs = graphs_of(session, run)
    parts = {name: getattr(explorer, name) for name in Explorer.model_fields}
    return ExplorerPage.model_validate({**parts, "graphs": graphs, "state": state})


def _head(session: Reading, run: str, slug: str, state: ExplorerState) -> ExplorerHead:
    """What the HTML names itself; its script asks for stages, kernels and links."""
    graph, named = graph_of(session, run, slug), run_name(session, run)
    if graph is None or named is None:
        raise _missing(session, run, slug)
    graphs = graphs_of(session, run)
    parts = {"run": named, "graph": graph, "graphs": graphs, "state": state}
    return ExplorerHead.model_validate(parts)


def _missing(session: Reading, run: str, slug: str) -> NotHere:
    return no_graph(run, slug) if graphs_of(session, run) else no_run(run)


async def _state(
    panes: State = PANES, sel: State = "", kernel: State = "", file: State = ""
) -> ExplorerState:
    wanted = [pane for pane in panes.split(",") if pane]
    return ExplorerState(panes=wanted, sel=sel, kernel=kernel, file=file)


Asked = Annotated[ExplorerState, Depends(_state)]


@twin.get("", summary="The explorer of a graph and its state", responses=documented(404, 422))
def get_graph(session: Reading, run: RunId, slug: Slug, state: Asked) -> ExplorerPage:
    return load_page(session, run, slug, state)


@twin.get(
    "/explorer",
    summary="Stages and kernels of a graph",
    response_model=Explorer,
    responses=documented(404, 422),
)
def get_explorer(
    parts: Shared, session: Reading, run: RunId, slug: Slug, accept_encoding: AcceptEncoding = ""
) -> Response:
    """Which artifact holds the text of which stage, and the kernels by time."""

    def make() -> bytes:
        # Written from the rows themselves: panes wait for this, and calls come by the thousand.
        text = to_json(found_graph(session, run, slug))
        return zstandard.ZstdCompressor(level=3).compress(text)

    stamp = explorer_stamp(session, run, slug)
    packed = make() if stamp is None else parts.kept.of(stamp, make)
    sent = {"Vary": "Accept-Encoding"}
    if takes_zstd(accept_encoding):
        return Response(
            packed, media_type="application/json", headers={**sent, "Content-Encoding": "zstd"}
        )
    plain = zstandard.ZstdDecompressor().decompress(packed)
    return Response(plain, media_type="application/json", headers=sent)


@twin.get(
    "/heat",
    summary="Times of the source lines",
    response_model=Heat,
    responses=documented(404, 422),
)
def get_heat(session: Reading, run: RunId, slug: Slug) -> Response:
    """What each line of the run's sources costs a step, all graphs together."""
    if graph_of(session, run, slug) is None:
        raise _missing(session, run, slug)
    files: dict[str, list[LineTime]] = defaultdict(list)
    for time in line_times(session, run):
        if time.path is not None and time.line is not None:
            files[time.path].append(time)
    return written(Heat(files=[_heat(path, times) for path, times in files.items()]))


def _heat(path: str, times: list[LineTime]) -> FileHeat:
    return FileHeat(
        path=path,
        lines=[time.line for time in times if time.line is not None],
        time_us=[time.time_us for time in times],
        shared_us=[time.shared_us for time in times],
        share=[time.share for time in times],
        kernels=[time.kernels for time in times],
    )


@twin.get(
    "/links",
    summary="Which lines belong together",
    response_class=Response,
    responses={200: {"model": Links}, **documented(404, 422)},
)
def get_links(
    session: Reading,
    run: RunId,
    slug: Slug,
    accept_encoding: AcceptEncoding = "",
    if_none_match: IfNoneMatch = "",
) -> Response:
    """Every line's references to entities; lines of different stages that share one are linked.

    Stage keys are stage ids, `source:PATH` for sources, and `code` for kernels and wrapper.
    """
    payload = links_payload(session, run, slug)
    if payload is None and any(graph.slug == slug for graph in graphs_of(session, run)):
        # Its texts can be looked at while its lines are still being linked.
        return JSONResponse(NO_LINKS.model_dump(), headers={"Cache-Control": "no-store"})
    if payload is None:
        raise _missing(session, run, slug)
    content = packed_json(payload)
    return whole(content, {"Content-Type": "application/json"}, accept_encoding, if_none_match)


@html.get("/runs/{run}/graphs/{slug}")
def explorer_page(
    request: Request, parts: Shared, session: Reading, run: RunId, slug: Slug, state: Asked
) -> Response:
    return parts.pages.render(request, "explorer.html", _head(session, run, slug, state))
