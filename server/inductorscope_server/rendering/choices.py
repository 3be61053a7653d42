"""The reader's choices for all pages, such as the theme, from the browser's cookie.

Pages are rendered with the choices, so that the first paint waits for no script.
"""

from __future__ import annotations

import re

from starlette.requests import Request

COOKIE = "inductorscope_choices"
"""Example: `theme=dark&fold-types=0`, as `frontend/src/shared/choices.ts` writes it."""
CHOICE = re.compile(r"([a-z-]{1,20})=([a-z0-9]{1,20})")
THEMES = ("light", "dark")
MOST = 20


class Choices:
    """The choices in a request's cookie; malformed ones are ignored."""

    def __init__(self, request: Request) -> None:
        pairs = request.cookies.get(COOKIE, "").split("&")
        matches = [match for pair in pairs[:MOST] if (match := CHOICE.fullmatch(pair))]
        self.all = {match[1]: match[2] for match in matches}

    @property
    def theme(self) -> str | None:
        theme = self.all.get("theme")
        return theme if theme in THEMES else None

    def __str__(self) -> str:
        return "&".join(f"{name}={value}" for name, value in self.all.items())
