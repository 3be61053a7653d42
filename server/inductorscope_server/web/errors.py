"""Errors as sentences: what happened, where, which limit, what to do; JSON for the API."""

import asyncio
import http
import logging
import re
from collections.abc import Mapping
from typing import Any

import msgspec
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from inductorscope import urls
from inductorscope.answers.missing import NotHere
from inductorscope.disk import TO_DO, Disk, is_full
from inductorscope.errors import InWords
from inductorscope.jobs.errors import OffsetError, cause_of
from inductorscope.markdown.text import prose
from inductorscope.settings import PREFIX
from inductorscope.store.contents.objects import OutOfReachError
from inductorscope.store.database.engine import folder_of
from inductorscope.store.database.errors import lacks_tables
from sqlalchemy.exc import InterfaceError, OperationalError, ProgrammingError, TimeoutError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Match, Mount

from inductorscope_server.rendering.markdown import markdown, wants_markdown
from inductorscope_server.rendering.templating import Pages
from inductorscope_server.serving.turns import TooManyWaiting
from inductorscope_server.web import headers
from inductorscope_server.web.answers import as_json
from inductorscope_server.web.metrics import METHODS

log = logging.getLogger(__name__)

ROUTED = ("fastapi", "endpoint", "path_params", "route")
"""Keys that the router added to a request's scope."""


class ErrorBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """An error, in sentences."""

    what: str
    """What happened."""
    limit: str | None = None
    """The setting that defines the limit, if there is one."""
    do: str | None = None
    """How to fix it."""
    where: str | None = None
    """The part of the request that caused it."""


class ErrorAnswer(msgspec.Struct, frozen=True):
    """The body of every error of the API."""

    error: ErrorBody


class ErrorPage(msgspec.Struct, frozen=True):
    """The content of `error.html`."""

    status: int
    title: str
    error: ErrorBody
    run: str | None
    """The run whose tabs the page shows."""
    search: str
    """What to search for instead of a page that does not exist."""


class Refusal(Exception):
    """A refused request; becomes a response with this status and these sentences."""

    def __init__(
        self,
        status: int,
        what: str,
        *,
        do: str | None = None,
        limit: str | None = None,
        where: str | None = None,
        headers: Mapping[str, str] | None = None,
        run: str | None = None,
        search: bool = False,
    ) -> None:
        """`search`: whether its page offers to search for what the address names."""
        super().__init__(what)
        self.status = status
        self.run = run
        self.search = search
        self.body = ErrorBody(what=what, do=do, limit=limit, where=where)
        self.headers = dict(headers or {})


RUN = "a run's id (16 hexadecimal digits)"
IDS = {
    "run": RUN,
    "other": RUN,
    "kernel": "a kernel's name with the number of a call, as in triton_poi_fused_add_0:1",
    "permalink": "the id of a permalink (12 letters and digits)",
}
"""What parts of addresses are."""
NOTHING = "There is nothing at this address."
_OF_RUN = re.compile(r"(?:/api)?/runs/([0-9a-f]{16})/")
REFUSED_AFTER_SECONDS = 1.0
"""How long a surplus request waits before it is refused, which slows its sender down."""
Documented = dict[int | str, dict[str, Any]]
"""OpenAPI's `responses`, in FastAPI's form."""


def documented(*statuses: int) -> Documented:
    """Returns OpenAPI's `responses` for these error statuses.

    They refer to a schema of `openapi`.
    """
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorAnswer"}}}
    return {
        status: {"description": http.HTTPStatus(status).phrase, "content": content}
        for status in sorted(statuses)
    }


def wants_json(request: Request) -> bool:
    path = request.url.path
    return path.startswith("/api/") or path in ("/api", "/healthz", urls.mcp())


def answer(request: Request, refusal: Refusal) -> Response:
    """Returns the refusal as Markdown, JSON, a fragment or a page, depending on the request."""
    if wants_markdown(request):
        text = " ".join(filter(None, (refusal.body.what, refusal.body.do)))
        return markdown(f"{prose(text)}\n", refusal.status)
    if wants_json(request):
        return as_json(ErrorAnswer(refusal.body), refusal.status, refusal.headers)
    page = ErrorPage(
        status=refusal.status,
        title=http.HTTPStatus(refusal.status).phrase,
        error=refusal.body,
        run=refusal.run,
        search=_named(request.url.path) if refusal.search else "",
    )
    pages = request.app.state.parts.pages
    assert isinstance(pages, Pages)
    fragment = "fragments/_error.html"
    name = fragment if pages.is_partial(request) and pages.has(fragment) else "error.html"
    if not pages.has(name):
        return PlainTextResponse(refusal.body.what, refusal.status, headers=refusal.headers)
    return pages.render(request, name, page, status=refusal.status, headers=refusal.headers)


def _named(path: str) -> str:
    """Returns the name of what an address leads to: of a kernel without its call."""
    last = path.rstrip("/").rpartition("/")[2]
    name, colon, handle = last.rpartition(":")
    return name if colon and handle.isdecimal() else last


def install(app: FastAPI) -> None:
    """Handles every exception with `answer`."""
    for known in (Refusal, InWords):
        app.add_exception_handler(known, _known)
    for error in (OperationalError, InterfaceError, ProgrammingError, TimeoutError):
        app.add_exception_handler(error, database_failed)
    app.add_exception_handler(TooManyWaiting, too_many)
    app.add_exception_handler(ClientDisconnect, _gone)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(Exception, _unexpected)


async def _known(request: Request, error: Exception) -> Response:
    if isinstance(error, Refusal):
        return answer(request, error)
    assert isinstance(error, InWords)
    if isinstance(error, OutOfReachError):
        log.error("%s %s: %s", request.method, request.url.path, error)
    run = error.run if isinstance(error, NotHere) else None
    refusal = Refusal(
        413 if error.limit else error.status,
        error.what,
        do=error.do,
        limit=f"{PREFIX}{error.limit.upper()}" if error.limit else None,
        headers={"Upload-Offset": str(error.offset)} if isinstance(error, OffsetError) else None,
        run=run,
        search=run is not None,
    )
    return answer(request, refusal)


async def database_failed(request: Request, error: Exception) -> Response:
    if is_full(error):
        folder = folder_of(request.app.state.parts.engine)
        what = "The disk of the database is full." if folder is None else Disk.of(folder).sentence()
        return answer(request, Refusal(507, what, do=TO_DO))
    lacks = lacks_tables(error)
    if isinstance(error, ProgrammingError) and not lacks:
        raise error
    log.error("%s %s: the database failed: %s", request.method, request.url.path, error)
    if lacks:
        what = f"The database was not made for this version of Inductorscope: {cause_of(error)}."
        do = (
            "If a newer version has upgraded it, start that one; otherwise restore a backup, or "
            "use another data folder."
        )
        return answer(request, Refusal(503, what, do=do))
    what = "The database did not answer in time."
    return answer(request, Refusal(503, what, do="Try again in a moment."))


async def too_many(request: Request, error: Exception | None = None) -> Response:
    """Refuses a surplus request. These come in floods, so the answer waits, and browsers get a
    sentence instead of a page."""
    await asyncio.sleep(REFUSED_AFTER_SECONDS)
    what = "Too many requests from your address are waiting for their turn."
    do = "Try again in a moment, with fewer at once."
    headers = {"Retry-After": "1"}
    if wants_json(request):
        return answer(request, Refusal(429, what, do=do, headers=headers))
    return PlainTextResponse(f"{what} {do}", 429, headers)


async def _gone(request: Request, error: Exception) -> Response:
    """Handles a client that left before it had sent the whole body; nobody reads this answer."""
    return Response(status_code=400)


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    path = request.url.path
    what = {
        404: NOTHING,
        405: f"{path} does not support {request.method}.",
        400: f"The request cannot be read: {error.detail}.",
        413: "The request is larger than this address allows.",
    }.get(error.status_code, f"{error.detail}.")
    more = dict(error.headers or {})
    if error.status_code == 405 and (methods := _methods_of(request)):
        more["Allow"] = ", ".join(methods)
    refused = Refusal(error.status_code, what, headers=more)
    return answer(request, _no_address(path, what) if error.status_code == 404 else refused)


def _methods_of(request: Request) -> list[str]:
    """Returns the methods of all routes of the request's path, since the route that refused knows
    only its own."""
    scope = {name: value for name, value in request.scope.items() if name not in ROUTED}
    routes = [route for route in request.app.routes if not isinstance(route, Mount)]
    return [
        method
        for method in METHODS
        if any(route.matches({**scope, "method": method})[0] is Match.FULL for route in routes)
    ]


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0] if error.errors() else {"loc": (), "msg": "it cannot be read"}
    kind, *rest = [str(part) for part in first["loc"]] or ["request"]
    if kind == "path":
        name = IDS.get(str(first["loc"][-1]))
        what = f"{first['input']} is not {name}." if name else NOTHING
        return answer(request, _no_address(request.url.path, what))
    where = ".".join([kind, *rest])
    name = ".".join(rest) or kind
    if first.get("type") == "json_invalid":
        return answer(request, Refusal(400, "The body is not JSON.", where="body"))
    message = str(first["msg"]).removeprefix("Value error, ")
    if kind == "query" and first.get("type") == "string_pattern_mismatch":
        # Usually a truncated address; the pattern would not help the reader.
        message = "it is not a valid value; copy the whole address again"
    if first.get("type") == "missing":
        what = f"The {'address' if kind == 'query' else kind} lacks `{name}`."
    else:
        what = f"`{name}` is invalid: {message}."
    return answer(request, Refusal(422, what, where=where))


def _no_address(path: str, what: str) -> Refusal:
    """Refuses a path that is no address, and leads back to the run that it names."""
    found = _OF_RUN.match(path)
    run = found[1] if found else None
    do = f"The run's kernels are listed at {urls.kernels(run)}." if run else None
    return Refusal(404, what, do=do, where=path, run=run, search=True)


async def _unexpected(request: Request, error: Exception) -> Response:
    """Answers with status 500. Runs outside the guard, so it sets the guard's headers itself."""
    log.error("%s %s failed: %r", request.method, request.url.path, error)
    refusal = Refusal(
        500,
        "The server failed to answer this request because of a bug.",
        do="The server's log contains the details; please report them.",
    )
    try:
        response = answer(request, refusal)
    except Exception:
        log.exception("The error page failed too.")
        response = PlainTextResponse(refusal.body.what, 500)
    headers.protect(response.headers, headers.nonce_of(request.scope))
    return response
