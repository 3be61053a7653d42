"""Signs people in with the server's token, a password, or an OpenID provider: the browser gets a
cookie that scripts cannot read."""

from datetime import UTC, datetime
from functools import partial
from typing import Annotated
from urllib.parse import urlsplit

import msgspec
from anyio import to_thread
from fastapi import APIRouter, Form
from inductorscope import urls
from inductorscope.answers.missing import NotHere
from inductorscope.store.logins import LIFETIME, begin_login, end_login
from inductorscope.store.people import password_is_right, person_of
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from inductorscope_server.access import openid
from inductorscope_server.access.rules import OPEN, who_of
from inductorscope_server.access.token import COOKIE, token_is_right
from inductorscope_server.web.parts import Parts, Shared

html = APIRouter(dependencies=[OPEN])
NO_STORE = {"Cache-Control": "no-store"}
SERVER_TOKEN = 0
"""Stands for the server's token, in place of a person."""


class LoginPage(msgspec.Struct, frozen=True):
    """The content of `login.html`: forms with the fields `token`, or `name` and `password`, and
    `next`."""

    next: str
    error: str | None
    logged_in: bool
    token: bool
    """Whether people can log in with the server's token."""
    password: bool
    provider: str | None
    """Host of the OpenID provider."""


def _page(parts: Parts, then: str, error: str | None = None, logged_in: bool = False) -> LoginPage:
    settings = parts.settings
    host = urlsplit(settings.oidc_issuer).hostname
    return LoginPage(then, error, logged_in, bool(settings.token), settings.accounts, provider=host)


@html.get("/login")
def login_form(request: Request, parts: Shared, next: str = "/") -> Response:
    asks = bool(parts.settings.token) or parts.settings.has_accounts
    page = _page(parts, own_path(next), logged_in=asks and who_of(request).logged_in)
    return parts.pages.render(request, "login.html", page, headers=NO_STORE)


@html.post("/login")
async def log_in(
    request: Request,
    parts: Shared,
    token: Annotated[str, Form()] = "",
    name: Annotated[str, Form()] = "",
    password: Annotated[str, Form()] = "",
    next: Annotated[str, Form()] = "/",
) -> Response:
    settings = parts.settings

    async def find() -> int | None:
        if name and settings.accounts:
            check = partial(_person, parts, name, password)
            return await to_thread.run_sync(check, limiter=parts.attempts.passwords)
        return SERVER_TOKEN if token_is_right(token.strip(), settings) else None

    if not settings.token and not settings.accounts:
        wrong, person = "No token is needed.", None
    else:
        person = await parts.attempts.check(find)
        wrong = "Name or password are wrong." if name else "This is not the server's token."
    if person is None:
        page = _page(parts, own_path(next), wrong)
        return parts.pages.render(request, "login.html", page, status=403, headers=NO_STORE)
    return await run_in_threadpool(begin, request, parts, person or None, own_path(next))


@html.get("/login/provider")
async def go_to_provider(request: Request, parts: Shared, next: str = "/") -> Response:
    """Redirects to the OpenID provider, which redirects back."""
    if not parts.settings.oidc_issuer:
        raise NotHere("This server knows no OpenID provider.")
    return await openid.begin(request, parts.settings, own_path(next))


@html.get(openid.BACK)
async def come_back(request: Request, parts: Shared) -> Response:
    """Logs in the person that the provider identified."""
    if not parts.settings.oidc_issuer:
        raise NotHere("This server knows no OpenID provider.")
    subject, name, then = await openid.end(request, parts.settings)
    person = await run_in_threadpool(_identified, parts, subject, name)
    answer = await run_in_threadpool(begin, request, parts, person, then)
    openid.forget(answer)
    return answer


def _identified(parts: Parts, subject: str, name: str) -> int:
    settings = parts.settings
    with parts.write.begin() as session:
        given = (settings.oidc_issuer, subject, name, settings.new_role, datetime.now(UTC))
        return person_of(session, *given).id


def _person(parts: Parts, name: str, password: str) -> int | None:
    with parts.read() as session:
        person = password_is_right(session, name, password)
    return None if person is None else person.id


def begin(request: Request, parts: Parts, person: int | None, target: str) -> Response:
    """Signs a browser in: a new login replaces what its cookie held."""
    former, token = request.cookies.get(COOKIE, ""), parts.settings.token
    agent = request.headers.get("user-agent", "")
    with parts.write.begin() as session:
        end_login(session, former, token)
        value = begin_login(session, token, datetime.now(UTC), person, agent)
    answer = RedirectResponse(target, 303, headers=NO_STORE)
    answer.set_cookie(
        COOKIE,
        value,
        max_age=int(LIFETIME.total_seconds()),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
        path="/",
    )
    return answer


@html.post("/logout")
def log_out(request: Request, parts: Shared) -> Response:
    """Ends the login; copies of its cookie stop working too."""
    with parts.write.begin() as session:
        end_login(session, request.cookies.get(COOKIE, ""), parts.settings.token)
    answer = RedirectResponse(urls.login(), 303, headers=NO_STORE)
    answer.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
    return answer


def own_path(target: str) -> str:
    """Returns the path to continue to; the start page if it could lead to another site."""
    if not target.startswith("/") or target.startswith(("//", "/\\")):
        return urls.runs()
    return urls.runs() if any(ord(letter) < 32 for letter in target) else target
