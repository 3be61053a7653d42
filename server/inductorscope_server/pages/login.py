"""Log in with the server's token: the browser gets a cookie that scripts cannot read."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Form
from inductorscope import urls
from inductorscope.store.logins import LASTS, begin_login, end_login
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from inductorscope_server.web.parts import Parts, Shared
from inductorscope_server.web.token import COOKIE, FORMER_COOKIE, may_pass, token_is_right

html = APIRouter()
NO_STORE = {"Cache-Control": "no-store"}


@dataclass(frozen=True, slots=True)
class LoginPage:
    """The content of `login.html`: a form with the fields `token` and `next`."""

    next: str
    error: str | None
    logged_in: bool


@html.get("/login")
def login_form(request: Request, parts: Shared, next: str = "/") -> Response:
    logged_in = may_pass(request)
    page = LoginPage(next=own_path(next), error=None, logged_in=logged_in)
    return parts.pages.render(request, "login.html", page, headers=NO_STORE)


@html.post("/login")
async def log_in(
    request: Request,
    parts: Shared,
    token: Annotated[str, Form()] = "",
    next: Annotated[str, Form()] = "/",
) -> Response:
    target = own_path(next)
    wrong = None if parts.settings.token else "No token is needed."
    if wrong is None and not await parts.attempts.check(
        request, lambda: token_is_right(token.strip(), parts.settings)
    ):
        wrong = "This is not the server's token."
    if wrong is not None:
        page = LoginPage(next=target, error=wrong, logged_in=False)
        return parts.pages.render(request, "login.html", page, status=403, headers=NO_STORE)
    answer = RedirectResponse(target, 303, headers=NO_STORE)
    answer.set_cookie(
        COOKIE,
        await run_in_threadpool(_begin, parts),
        max_age=int(LASTS.total_seconds()),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
        path="/",
    )
    answer.delete_cookie(FORMER_COOKIE, path="/")
    return answer


@html.post("/logout")
def log_out(request: Request, parts: Shared) -> Response:
    """Ends the login, also for a copy of its cookie."""
    with parts.write.begin() as session:
        end_login(session, request.cookies.get(COOKIE, ""), parts.settings.token)
    answer = RedirectResponse(urls.login(), 303, headers=NO_STORE)
    for cookie in (COOKIE, FORMER_COOKIE):
        answer.delete_cookie(cookie, path="/", httponly=True, samesite="strict")
    return answer


def _begin(parts: Parts) -> str:
    with parts.write.begin() as session:
        return begin_login(session, parts.settings.token, datetime.now(UTC))


def own_path(target: str) -> str:
    """Returns the path to continue to; the start page if it could lead to another site."""
    if not target.startswith("/") or target.startswith(("//", "/\\")):
        return urls.runs()
    return urls.runs() if any(ord(letter) < 32 for letter in target) else target
