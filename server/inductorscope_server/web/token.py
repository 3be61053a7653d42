"""The server's token, which requests carry in a header or a cookie."""

from __future__ import annotations

import secrets

from inductorscope.settings import Settings
from starlette.requests import Request

COOKIE = "inductorscope_token"


def bearer(request: Request) -> str:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def token_is_right(token: str, settings: Settings) -> bool:
    return bool(settings.token) and secrets.compare_digest(
        token.encode(errors="replace"), settings.token.encode()
    )


def may_pass(request: Request, settings: Settings) -> bool:
    """Whether the request carries the token, in its header or its cookie."""
    token = bearer(request) or request.cookies.get(COOKIE, "")
    return token_is_right(token, settings)


def may_write(request: Request, settings: Settings) -> bool:
    """Whether the page should offer changes."""
    return not settings.token or may_pass(request, settings)
