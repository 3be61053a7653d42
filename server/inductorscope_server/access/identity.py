"""Finds out who sends a request: by a token in a header, a login's cookie, or a proxy's header."""

import ipaddress
from datetime import UTC, datetime

from inductorscope.settings import Settings
from inductorscope.store.logins import VALUE, login_with
from inductorscope.store.people import (
    PROXY,
    known_person,
    note_use,
    person_of,
    who_has_token,
    who_is,
)
from inductorscope.store.tables.people import Person
from inductorscope.store.who import OWNER, READ, WHO, Who
from msgspec.structs import replace
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from inductorscope_server.access.token import COOKIE, bearer, token_is_right
from inductorscope_server.web.errors import Refusal
from inductorscope_server.web.parts import Parts

SAME_FOR_ALL = ("/static/", "/healthz")
"""Paths whose answers are the same for everybody."""
LINKS_COOKIE = "inductorscope_links"
MOST_LINKS = 20
"""Links to runs that a browser keeps."""
PEER = "inductorscope_peer"
LOCAL_PROXY = ["127.0.0.1"]
"""As in uvicorn: a proxy on this machine may say for whom it asks."""


class BehindProxies:
    """Takes a client's address and scheme from the headers of known proxies. Keeps the address of
    the connection itself, because only known proxies may name who is logged in."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        trusted = settings.trusted or LOCAL_PROXY
        self._app = ProxyHeadersMiddleware(app, trusted)  # type: ignore[arg-type]  # uvicorn's own types

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[PEER] = (scope.get("client") or ("", 0))[0]
        await self._app(scope, receive, send)  # type: ignore[arg-type]  # as above


class Identity:
    """Finds out who sends a request, and what they may do."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._settings = parts.settings
        self._proxies = [ipaddress.ip_network(network) for network in parts.settings.trusted]

    async def of(self, request: Request) -> tuple[Who, bool]:
        """Returns who sends the request, and whether a token in its header says so. Raises
        Refusal."""
        settings = self._settings
        if not settings.token and not settings.has_accounts:
            return request.scope.get(WHO, OWNER), False  # an export sets whose view it shows
        anybody = self._anybody(request)
        if request.url.path.startswith(SAME_FOR_ALL):
            return anybody, False
        token = bearer(request)
        if token:
            who = await self._parts.attempts.check(lambda: run_in_threadpool(self._of_token, token))
            return who or anybody, who is not None
        named = request.headers.getlist(settings.proxy_header) if settings.proxy_header else []
        cookie = request.cookies.get(COOKIE, "")
        if named:
            who = await run_in_threadpool(self._named_by_proxy, request, named)
        elif VALUE.fullmatch(cookie):
            who = await run_in_threadpool(self._of_login, cookie)
        else:
            return anybody, False
        if who is None:
            return anybody, False
        return (who if who.sees_all else replace(who, links=anybody.links)), False

    def _anybody(self, request: Request) -> Who:
        """Returns a visitor who is not logged in, and who sees the runs of the links in their
        cookie."""
        sent = request.cookies.get(LINKS_COOKIE, "").split(".")
        links = tuple(key for key in sent[:MOST_LINKS] if VALUE.fullmatch(key))
        sees_all = not (self._settings.has_accounts or self._settings.token_to_read)
        scopes = frozenset({READ} if sees_all or links else ())
        return Who("a visitor", scopes, links=links, sees_all=sees_all, logged_in=False)

    def _of_token(self, token: str) -> Who | None:
        if token_is_right(token, self._settings):
            return OWNER
        now = datetime.now(UTC)
        with self._parts.read() as session:
            who, is_new = who_has_token(session, token, now)
        if is_new:
            with self._parts.write.begin() as session:
                note_use(session, token, now)
        return who

    def _of_login(self, cookie: str) -> Who | None:
        with self._parts.read() as session:
            login = login_with(session, cookie, self._settings.token, datetime.now(UTC))
            if login is None:
                return None
            if login.person_id is None:
                return OWNER if self._settings.token else None
            person = session.get(Person, login.person_id)
        return who_is(person) if person is not None and self._settings.has_accounts else None

    def _named_by_proxy(self, request: Request, named: list[str]) -> Who | None:
        peer = request.scope.get(PEER) or "nowhere"
        if not self._is_proxy(peer) or len(named) != 1:
            raise Refusal(
                403,
                f"{self._settings.proxy_header} comes from {peer}, which may not say who "
                "is logged in.",
                do="Log in through the proxy.",
                limit="INDUCTORSCOPE_PROXIES",
            )
        (name,) = named
        if not name.strip():
            return None
        with self._parts.read() as session:
            person = known_person(session, PROXY, name)
        if person is None:
            with self._parts.write.begin() as session:
                given = (PROXY, name, name, self._settings.new_role, datetime.now(UTC))
                person = person_of(session, *given)
        return who_is(person)

    def _is_proxy(self, peer: str) -> bool:
        try:
            address = ipaddress.ip_address(peer)
        except ValueError:
            return False
        return any(address in network for network in self._proxies)
