"""The server's token: what a request carries of it, in a header or in the browser's cookie."""

from __future__ import annotations

import secrets

from inductorscope.settings import Settings
from starlette.requests import Request

COOKIE = "inductorscope_token"


def bearer(request: Request) -> str:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def token_is_right(given: str, settings: Settings) -> bool:
    return bool(settings.token) and secrets.compare_digest(
        given.encode(errors="replace"), settings.token.encode()
    )


def may_pass(request: Request, settings: Settings) -> bool:
    """Whether the request carries the token, in its header or its cookie."""
    given = bearer(request) or request.cookies.get(COOKIE, "")
    return token_is_right(given, settings)


def may_write(request: Request, settings: Settings) -> bool:
    """Whether the page should offer what changes something."""
    return not settings.token or may_pass(request, settings)
