"""The explorer: all stages of a graph side by side, and the links between their lines."""

from typing import Annotated

import zstandard
from fastapi import APIRouter, Depends, Query
from inductorscope import urls
from inductorscope.answers.explorer.beside import BesidePage, beside_page
from inductorscope.answers.explorer.graph import (
    Explorer,
    ExplorerHead,
    ExplorerPage,
    ExplorerState,
    explorer,
    explorer_head,
    explorer_page,
    links_payload,
)
from inductorscope.answers.explorer.links import NO_LINKS
from inductorscope.answers.machine.text import MachineText, machine_text
from inductorscope.answers.missing import NotAnalysed
from inductorscope.answers.parts import RunGraphs, graph_of, run_graphs
from inductorscope.answers.time.heat import Heat, heat
from inductorscope.formats.vocabulary import OF_KERNELS, OPENED
from inductorscope.store.runs.links import Links
from starlette.requests import Request
from starlette.responses import Response

from inductorscope_server.access.rules import READS
from inductorscope_server.web import openapi
from inductorscope_server.web.answers import (
    as_json,
    as_packed_json,
    json_bytes,
)
from inductorscope_server.web.errors import Refusal
from inductorscope_server.web.ids import PLAIN, RunId, Slug
from inductorscope_server.web.parts import Analysing, Reading

html = APIRouter()
api = APIRouter(prefix="/runs/{run}/graphs/{slug}", tags=[openapi.GRAPHS], dependencies=[READS])

PANES = ",".join(OPENED)
KernelName = Annotated[str, Query(max_length=600, pattern=PLAIN)]
StageOfKernel = Annotated[str, Query(pattern=rf"^({'|'.join(OF_KERNELS)})$")]
State = Annotated[str, Query(max_length=2000, pattern=PLAIN)]
# 3f9a2c0b1d4e5f60/model__0_forward_1.0/kernel/triton_poi_fused_add_0
SIDE = r"^[0-9a-f]{16}/[^/\x00-\x1f]{1,255}/[a-z_]{1,20}(/[^/\x00-\x1f]{1,1000})?$"
Named = Annotated[
    str,
    Query(
        description="`RUN/GRAPH/STAGE`, and `/KERNEL` where the stage shows one kernel.",
        pattern=SIDE,
        max_length=1400,
        examples=["3f9a2c0b1d4e5f60/model__0_forward_1.0/post_grad"],
    ),
]


async def _state(
    panes: State = PANES, sel: State = "", kernel: State = "", file: State = ""
) -> ExplorerState:
    wanted = [pane for pane in panes.split(",") if pane]
    return ExplorerState(panes=wanted, sel=sel, kernel=kernel, file=file)


StateAsked = Annotated[ExplorerState, Depends(_state)]


def load_graphs(session: Reading, run: RunId) -> RunGraphs:
    """The graphs to choose from; the page redirects to the first."""
    return run_graphs(session, run)


def lead_first(page: RunGraphs) -> str | None:
    """Leads to the slowest graph; without one, the page says how to get one."""
    return urls.graph(page.run.id, page.slowest) if page.slowest else None


def load_head(session: Reading, run: RunId, slug: Slug, state: StateAsked) -> ExplorerHead:
    """The part of the page that its HTML contains; a script requests stages, kernels and links."""
    return explorer_head(session, run, slug, state)


async def load_page(analysis: Analysing, run: RunId, slug: Slug, state: StateAsked) -> ExplorerPage:
    return await analysis(explorer_page, run, slug, state)


def load_beside(session: Reading, left: Named, right: Named) -> BesidePage:
    """Two stages, kernels or graphs, of one run or two, with their lines aligned."""
    return beside_page(session, left, right)


@api.get(
    "/explorer", summary="Stages and kernels of a graph", **openapi.answers(Explorer, 404, 422)
)
def get_explorer(request: Request, session: Reading, run: RunId, slug: Slug) -> Response:
    """The artifact with the text of each stage, and the kernels by time."""
    text = json_bytes(explorer(session, run, slug))
    return as_packed_json(request, zstandard.ZstdCompressor(level=3).compress(text))


@api.get(
    "/machine", summary="What Triton compiled of a kernel", **openapi.answers(MachineText, 404, 422)
)
async def get_machine(
    analysis: Analysing, run: RunId, slug: Slug, kernel: KernelName, stage: StageOfKernel
) -> Response:
    """A compiled text, and for each of its lines the kernel's lines that it comes from."""
    try:
        return as_json(await analysis(machine_text, run, slug, kernel, stage))
    except NotAnalysed as error:
        raise Refusal(422, str(error)) from None


@api.get("/heat", summary="Times of the source lines", **openapi.answers(Heat, 404, 422))
def get_heat(session: Reading, run: RunId, slug: Slug) -> Response:
    """The time per step of each line of the run's sources, over all graphs."""
    graph_of(session, run, slug)
    return as_json(heat(session, run))


@api.get("/links", summary="Links between lines", **openapi.answers(Links, 404, 422))
def get_links(request: Request, session: Reading, run: RunId, slug: Slug) -> Response:
    """The references of every line. Lines of different stages are linked if they refer to the same
    entity.

    Stage keys are stage ids, `source:PATH` for sources, and `code` for kernels and wrapper.
    """
    payload = links_payload(session, run, slug)
    if payload is None:
        graph_of(session, run, slug)
        # Texts can be opened while lines are still being linked.
        answer = as_json(NO_LINKS)
        answer.headers["Cache-Control"] = "no-store"
        return answer
    return as_packed_json(request, payload)
