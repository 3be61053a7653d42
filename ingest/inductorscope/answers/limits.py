"""Limits on analysing uploaded texts when a page is requested.

The server analyses texts in a process with limits on time and memory. Analysing code calls `begin`
with the name of each text, so that a text that exceeds a limit is passed over from then on and the
rest of the page is shown.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar


class NotAnalysed(ValueError):
    """A text is not analysed because of a limit; the message is a sentence for the user."""


def _anything(text: str, size: int) -> None:
    """The default outside the server: passes nothing over."""


watching: ContextVar[Callable[[str, int], None]] = ContextVar("watching", default=_anything)
"""Called with the name and size of each text before it is analysed; raises NotAnalysed to pass it
over."""


def begin(text: str, size: int = 0) -> None:
    """Announces that a text is analysed from now on; a longer text may take more time. Raises
    NotAnalysed if it must be passed over."""
    watching.get()(text, size)
