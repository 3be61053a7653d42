"""Log in with the server's token, which the browser keeps in a cookie that scripts cannot read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Form
from inductorscope import urls
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from inductorscope_server.web.parts import Shared
from inductorscope_server.web.token import COOKIE, may_pass, token_is_right

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
    logged_in = may_pass(request, parts.settings)
    page = LoginPage(next=own_path(next), error=None, logged_in=logged_in)
    return parts.pages.render(request, "login.html", page, headers=NO_STORE)


@html.post("/login")
def log_in(
    request: Request,
    parts: Shared,
    token: Annotated[str, Form()] = "",
    next: Annotated[str, Form()] = "/",
) -> Response:
    target = own_path(next)
    if not token_is_right(token.strip(), parts.settings):
        wrong = "This is not the server's token." if parts.settings.token else "No token is needed."
        page = LoginPage(next=target, error=wrong, logged_in=False)
        return parts.pages.render(request, "login.html", page, status=403, headers=NO_STORE)
    answer = RedirectResponse(target, 303, headers=NO_STORE)
    answer.set_cookie(
        COOKIE,
        token.strip(),
        max_age=30 * 86_400,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
        path="/",
    )
    return answer


@html.post("/logout")
def log_out() -> Response:
    answer = RedirectResponse(urls.login(), 303, headers=NO_STORE)
    answer.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
    return answer


def own_path(target: str) -> str:
    """Returns the path to continue to; the start page if it could lead to another site."""
    if not target.startswith("/") or target.startswith(("//", "/\\")):
        return urls.runs()
    return urls.runs() if any(ord(letter) < 32 for letter in target) else target
