"""Access control: host names, origins, and who sends a request. One ASGI middleware around all.

- The Host header must name this server, so that a foreign name that resolves to this address
  (DNS rebinding) reaches nothing.
- Requests that change something must come from this server's pages or from a program, never
  from another site's page.
- With a token or accounts, `Identity` finds out who sends a request. Senders who may not read here
  are asked to log in; `rules.py` says what each route needs. Agents at `/mcp` can only read.
"""

import ipaddress
import re
import secrets
import socket
import time
from functools import lru_cache
from urllib.parse import urlsplit

from inductorscope import urls
from inductorscope.formats.sizes import KIB, MIB
from inductorscope.jobs.sender import SENDER, sender_at
from inductorscope.processes.logs import REQUEST
from inductorscope.settings import Settings
from inductorscope.store.who import READ, VIEWER, WHO
from sqlalchemy.exc import SQLAlchemyError
from starlette.datastructures import MutableHeaders
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from inductorscope_server.access.identity import SAME_FOR_ALL, Identity
from inductorscope_server.web import headers
from inductorscope_server.web.errors import Refusal, answer, database_failed, too_many, wants_json
from inductorscope_server.web.parts import Parts

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
OPEN_PATHS = (*SAME_FOR_ALL, "/login", "/logout", "/shared/")
"""Served to everybody: what is needed to log in and out, links to runs, and the health check."""
ONLY_READ = (urls.mcp(),)
"""Paths whose POST requests change nothing."""
WILDCARDS = frozenset({"0.0.0.0", "::", ""})  # noqa: S104  # compared, not bound
NUL = re.compile(rb"%00|\x00")
MOST_BODY_BYTES = 256 * KIB
"""Largest body by default; it is held in memory."""
MOST_ANNOUNCED_BYTES = 32 * MIB
"""Largest body that announces an upload: enough for 100,000 files."""
STREAMED = re.compile(r"/api/uploads/[^/]+/files/[^/]+")
"""Paths whose bodies go to disk as they arrive; the handler counts their bytes."""


class Guard:
    """The middleware that checks every request."""

    def __init__(self, app: ASGIApp, parts: Parts) -> None:
        self._app = app
        self._limited = {
            most: RequestBodyLimitMiddleware(app, most)
            for most in (MOST_BODY_BYTES, MOST_ANNOUNCED_BYTES)
        }
        self._identity = Identity(parts)
        self._parts = parts
        self._settings = parts.settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        nonce = headers.nonce_of(scope)
        begun, status = time.monotonic(), 0
        REQUEST.set(secrets.token_hex(6))
        client = scope.get("client")
        SENDER.set(sender_at(client[0] if client else None))

        async def send_protected(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                sent = MutableHeaders(scope=message)
                headers.protect(sent, nonce)
                sent["X-Request-ID"] = REQUEST.get() or ""
            await send(message)

        request = Request(scope, receive)
        try:
            early = await self._check(request)
        except Refusal as refusal:
            early = answer(request, refusal)
        except SQLAlchemyError as error:
            early = await database_failed(request, error)
        most = _most_bytes(scope["path"])
        on = self._app if most is None else self._limited[most]
        try:
            await (early or on)(scope, receive, send_protected)
        finally:
            route = getattr(scope.get("route"), "path", "") or "other"
            seconds = time.monotonic() - begun
            self._parts.requests.add(scope["method"], route, status or 500, seconds)

    async def _check(self, request: Request) -> Response | None:
        """Returns a response that ends the request, or None to continue."""
        path = request.scope["path"]
        takes_turn = not path.startswith(SAME_FOR_ALL) and not STREAMED.fullmatch(path)
        if takes_turn and self._parts.turns.are_taken(SENDER.get()):
            # Here, since even routing a request costs as much as some answers.
            return await too_many(request)
        _refuse_unreadable(request)
        settings = self._settings
        if not host_is_ours(request.headers.get("host", ""), settings.host, settings.hosts):
            raise Refusal(
                421,
                "This server does not accept the host name of this request.",
                do="Use the address it was started with, or localhost. "
                "Add names of proxies and containers to INDUCTORSCOPE_HOSTS.",
                limit="INDUCTORSCOPE_HOSTS",
            )
        who, by_header = await self._identity.of(request)
        request.scope["state"][WHO] = who
        VIEWER.set(who)
        if request.method not in SAFE_METHODS and not by_header:
            _refuse_foreign_pages(request)
        if who.logged_in or request.url.path.startswith(OPEN_PATHS):
            return None
        reads = request.method in SAFE_METHODS or request.url.path in ONLY_READ
        if reads and who.may(READ):
            return None
        return _ask_to_log_in(request, settings)


def _most_bytes(path: str) -> int | None:
    """Returns the largest body that an address accepts; None if its handler counts the bytes."""
    if STREAMED.fullmatch(path):
        return None
    return MOST_ANNOUNCED_BYTES if path == f"{urls.API}/uploads" else MOST_BODY_BYTES


def _refuse_unreadable(request: Request) -> None:
    scope = request.scope
    raw = scope.get("raw_path") or scope["path"].encode()
    if NUL.search(raw) or NUL.search(scope["query_string"]):
        raise Refusal(400, "The address contains a NUL character.")
    length = request.headers.get("content-length", "0")
    most = _most_bytes(scope["path"])
    if most is not None and length.isdecimal() and int(length[:19]) > most:
        raise Refusal(
            413,
            f"The body has {length} bytes; this address accepts up to {most:,}.",
            do="Send files with PATCH to an upload; they may be larger.",
        )


# --- host names ---


def host_is_ours(header: str, bound: str, further: str = "") -> bool:
    """Whether a Host header names this server: `bound`, the address or name it is bound to, or one
    of the `further` names, separated by commas."""
    host = _host_of(header)
    if host is None:
        return False
    if host == "localhost" or host == bound.lower() or _is_loopback(host):
        return True
    if host in {name.strip().lower() for name in further.split(",") if name.strip()}:
        return True
    return bound in WILDCARDS and (_address(host) is not None or host in _own_names())


def _host_of(header: str) -> str | None:
    try:
        parts = urlsplit(f"//{header}")
        host, _ = parts.hostname, parts.port  # reading the port validates it
    except ValueError:
        return None
    if not host or parts.username is not None or parts.path:
        return None
    return host.rstrip(".")


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _is_loopback(host: str) -> bool:
    address = _address(host)
    return address is not None and address.is_loopback


def is_loopback_name(host: str) -> bool:
    """Whether binding to `host` keeps the server on this machine."""
    return host == "localhost" or _is_loopback(host)


@lru_cache(maxsize=1)
def _own_names() -> frozenset[str]:
    return frozenset({socket.gethostname().lower(), socket.getfqdn().lower()})


# --- origins ---


def _refuse_foreign_pages(request: Request) -> None:
    """Refuses requests from pages of other sites. Browsers state the origin; programs do not.

    Not for requests with a valid token in the Authorization header, which are accepted from
    anywhere, because no page can make a browser send one.
    """
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        ours = site in ("same-origin", "none")
    else:
        origin = request.headers.get("origin")
        ours = origin is None or _same_origin(origin, request.headers.get("host", ""))
    if not ours:
        raise Refusal(
            403,
            "This request comes from a page of another site, which may not change anything.",
            do="Use the pages of this server, or send the token as `Authorization: Bearer …`.",
        )


def _same_origin(origin: str, host: str) -> bool:
    try:
        return urlsplit(origin).netloc.lower() == host.lower()
    except ValueError:
        return False


# --- logging in ---


def _ask_to_log_in(request: Request, settings: Settings) -> Response:
    if wants_json(request) or request.method not in SAFE_METHODS:
        asked = "a token" if settings.has_accounts else "the server's token"
        raise Refusal(
            401,
            f"This request needs {asked}.",
            do="Send `Authorization: Bearer …`, or log in at /login.",
            limit=None if settings.has_accounts else "INDUCTORSCOPE_TOKEN",
            headers={"WWW-Authenticate": "Bearer"},
        )
    if request.headers.get("sec-fetch-site") == "cross-site":
        # A link on another site: browsers omit a SameSite=Strict cookie from that first request.
        # They send it when this page reloads, so nobody has to log in twice.
        return HTMLResponse(
            '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0">'
            "<title>Inductorscope</title><p>Opening…</p>",
            headers={"Cache-Control": "no-store"},
        )
    if request.headers.get("hx-request") == "true":
        # Without a login: a redirect would put its page in the place of a part of another.
        return Response(
            status_code=401, headers={"HX-Refresh": "true", "Cache-Control": "no-store"}
        )
    target = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return RedirectResponse(urls.login(target), 303, headers={"Cache-Control": "no-store"})
