"""What a reader chose for all pages, as the browser's cookie tells it.

Pages come with it, so that no script has to ask for it before the first paint.
"""

from __future__ import annotations

import re

from starlette.requests import Request

COOKIE = "inductorscope_choices"
"""Sample: `theme=dark&fold-types=0`, as `frontend/src/shared/choices.ts` writes it."""
CHOICE = re.compile(r"([a-z-]{1,20})=([a-z0-9]{1,20})")
THEMES = ("light", "dark")
MOST = 20


class Choices:
    """The choices that are written as ours are."""

    def __init__(self, request: Request) -> None:
        pairs = request.cookies.get(COOKIE, "").split("&")
        found = [match for pair in pairs[:MOST] if (match := CHOICE.fullmatch(pair))]
        self.all = {match[1]: match[2] for match in found}

    @property
    def theme(self) -> str | None:
        theme = self.all.get("theme")
        return theme if theme in THEMES else None

    def __str__(self) -> str:
        return "&".join(f"{name}={value}" for name, value in self.all.items())
