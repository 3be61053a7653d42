"""The playground: code typed in the browser, compiled in a confined process."""

import hashlib
from typing import Annotated

import msgspec
from fastapi import APIRouter, Query
from inductorscope import urls
from inductorscope.answers.fork import Fork, Try, fork_of, is_uploaded, try_of
from inductorscope.answers.parts import run_of
from inductorscope.capturing.playground.order import CONFIG, MODEL
from inductorscope.capturing.spec import DTYPES, CaptureSpec
from inductorscope.fields import Hidden
from inductorscope.formats.change import MODES
from inductorscope.playing.lessons import LESSONS, Lesson
from inductorscope.playing.tries import Tried, TryAsked
from inductorscope.settings import PREFIX, Settings
from inductorscope.store.projects import place_run
from inductorscope.store.who import Who
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from inductorscope_server.access.rules import RUNS_CODE, who_of
from inductorscope_server.access.token import COOKIE, bearer
from inductorscope_server.api.bodies import TryRequest
from inductorscope_server.serving.judging import refuse_unconfined
from inductorscope_server.serving.turns import whose_turn
from inductorscope_server.web import openapi
from inductorscope_server.web.answers import as_json
from inductorscope_server.web.errors import Refusal
from inductorscope_server.web.ids import RunId, Slug
from inductorscope_server.web.parts import Parts, Reading, Shared
from inductorscope_server.web.security import is_loopback_name

html = APIRouter()
api = APIRouter(tags=[openapi.JOBS], dependencies=[RUNS_CODE])

OfGraph = Annotated[str, Query(max_length=255)]
AtLine = Annotated[int, Query(ge=0, le=10**9)]


class PlayPage(msgspec.Struct, frozen=True):
    """The playground `/play` and a try `/play/{run}`."""

    on: bool
    """Whether the playground runs code on this server."""
    shown: Try | None
    """The try; None for the empty playground."""
    fork: Fork | None
    """The graph that is forked; None if it is not one."""
    lessons: list[Lesson]
    modes: Hidden[list[str]]
    dtypes: Hidden[list[str]]
    config: Hidden[dict[str, list[str]]]
    """Keys of torch._inductor.config, with values to choose from."""


class PlayReady(msgspec.Struct, frozen=True):
    """The process that compiles has started."""

    protections: dict[str, str]
    """Each protection of the process → why it is missing here; empty if it is in place."""
    cuda: bool
    names: dict[str, list[str]]
    """Public names of torch's modules and of its tensors, for completion."""


def is_on(settings: Settings) -> bool:
    """Whether the playground runs code: only when the server is reachable from this machine alone,
    or its owner turned it on."""
    return settings.playground or (is_loopback_name(settings.host) and not settings.hosts)


def load(parts: Shared) -> PlayPage:
    """Lessons and options. Compile with `POST /api/play/tries`."""
    return _page(parts)


def load_try(parts: Shared, session: Reading, run: RunId, graph: OfGraph = "") -> PlayPage:
    """A try with its code and options."""
    return _page(parts, try_of(session, run, graph))


def load_fork(
    parts: Shared, session: Reading, run: RunId, slug: Slug, line: AtLine = 0
) -> PlayPage:
    """A graph's own program, to edit and to compile beside the graph. `line`: of the graph after
    its passes."""
    return _page(parts, fork=fork_of(session, run, slug, line))


def _page(parts: Parts, shown: Try | None = None, fork: Fork | None = None) -> PlayPage:
    return PlayPage(
        on=is_on(parts.settings),
        shown=shown,
        fork=fork,
        lessons=LESSONS,
        modes=list(MODES),
        dtypes=list(DTYPES),
        config={key: list(values) for key, values in CONFIG.items()},
    )


async def allow(request: Request, parts: Parts) -> None:
    """Raises Refusal if no code may run. Ends the request's turn, since compiling may take long."""
    if not is_on(parts.settings):
        raise Refusal(
            403,
            "This server does not run code that is typed in a browser.",
            do="Its owner can switch the playground on with this setting.",
            limit=f"{PREFIX}PLAYGROUND",
        )
    await request.state.turn.aclose()


@api.post(
    urls.PLAY + "/ready", summary="Start the playground", **openapi.answers(PlayReady, 403, 503)
)
async def ready(request: Request, parts: Shared) -> Response:
    """Starts the process that compiles, which takes seconds, and says how tries are confined."""
    await allow(request, parts)
    found = await parts.playground.ready(whose_turn())
    return as_json(PlayReady(found.protections, found.cuda, found.names))


@api.post(urls.PLAY + "/tries", summary="Compile code", **openapi.answers(Tried, 403, 422, 503))
async def try_out(request: Request, parts: Shared, body: TryRequest) -> Response:
    """Compiles the code in a confined process and reads what torch recorded as a run."""
    await allow(request, parts)
    unknown = sorted(body.config.keys() - CONFIG.keys())
    if unknown:
        raise Refusal(
            422, f"The playground does not set {', '.join(unknown)}.",
            do=f"It sets {', '.join(CONFIG)}.",
        )  # fmt: skip
    options = body.model_dump(exclude={"code", "name", "timed", "fork", "agreed"})
    name = body.name or "a try"
    spec = CaptureSpec(model=MODEL, name=name, measure=body.timed, **options)
    tags, share = [], ""
    if body.fork is not None:
        tags.append(f"fork of {body.fork}")
        if await run_in_threadpool(_is_uploaded, parts, body.fork):
            await _allow_uploaded(parts, body)
            share = body.fork  # its kernels are for tries of this run only
    asked = TryAsked(spec, body.code, name, _kernels_of(request, share), tags)
    tried = await parts.playground.try_out(whose_turn(), asked)
    if tried.run is not None:
        await run_in_threadpool(_place, parts, tried.run, who_of(request))
    return as_json(tried)


def _is_uploaded(parts: Parts, run: str) -> bool:
    with parts.read() as session:
        return is_uploaded(run_of(session, run))


async def _allow_uploaded(parts: Parts, body: TryRequest) -> None:
    """Raises Refusal unless code of an uploaded run may run: this person agreed, and the process is
    confined."""
    if not body.agreed:
        raise Refusal(
            403, "This code comes from an uploaded run, and you have not agreed to run it.",
            do="Read it first. Then send `agreed`, or press the button that asks.",
        )  # fmt: skip
    refuse_unconfined(await parts.playground.ready(whose_turn()), "comes from an uploaded run")


def _kernels_of(request: Request, share: str = "") -> str:
    """Returns a name for those who share compiled kernels, which can run each other's code.

    A token may have been given to somebody else, so its tries share nothing with its owner's. A
    login with the server's token names no person.
    """
    who, key = who_of(request), bearer(request)
    if not key:
        key = request.cookies.get(COOKIE, "") if who.person is None else f"person {who.person}"
    return hashlib.sha256(f"{key} {share}".encode()).hexdigest()


def _place(parts: Parts, run: str, who: Who) -> None:
    """Puts the run where this viewer can see it; the playground's process does not know the
    viewer."""
    if who.person is not None or who.project is not None:
        with parts.write.begin() as session:
            place_run(session, run, who.person, who.project)
