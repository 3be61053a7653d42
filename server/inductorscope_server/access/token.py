"""The server's token: programs send it in a header, browsers log in with it."""

import secrets

from inductorscope.settings import PREFIX, Settings
from starlette.requests import Request

COOKIE = "inductorscope_login"
SHORTEST = 16
"""Characters of the shortest token that a server accepts."""


def refusal_of_token(token: str) -> str | None:
    """Returns why a server with this token does not start, in sentences; None if the token is good
    enough."""
    name = f"{PREFIX}TOKEN"
    new = "for example the output of `openssl rand -hex 16`, and give it to everyone who uses it"
    if not token:
        return None
    if len(token) < SHORTEST:
        return (
            f"{name} has {len(token)} characters, so it can be guessed; it needs at least "
            f"{SHORTEST}. Set another one, {new}."
        )
    if token != token.strip() or not token.isprintable():
        return (
            f"{name} begins or ends with a space, or contains a control character, which requests "
            f"cannot carry. Set another one, {new}."
        )
    return None


def bearer(request: Request) -> str:
    """Returns the token in the Authorization header; empty if there is none."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        return ""
    sent = token.strip().encode("latin-1")  # as Starlette decoded it
    return sent.decode("utf-8", "replace")


def token_is_right(token: str, settings: Settings) -> bool:
    return bool(settings.token) and secrets.compare_digest(
        token.encode(errors="replace"), settings.token.encode()
    )
