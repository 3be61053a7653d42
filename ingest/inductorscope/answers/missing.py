"""Why there is no answer: what is asked for is not in the database, or a text exceeds a limit.

The server analyses uploaded texts in a process with limits on time and memory. Analysing code calls
`begin` with the name of each text, so that a text that exceeds a limit is passed over from then on
and the rest of the page is shown.
"""

from collections.abc import Callable
from contextvars import ContextVar

from inductorscope.errors import InWords


class NotAnalysed(InWords, ValueError):
    """A text is not analysed because of a limit; the message is a sentence for the user."""

    status = 503


class Exceeded(Exception):
    """An answer exceeded a limit, or its process crashed; the message completes a sentence: “takes
    longer than 10 seconds”. A process in which an answer raises it ends."""

    def __init__(self, what: str, text: str = "") -> None:
        super().__init__(what)
        self.text = text
        """The text that was being analysed; empty if none was named yet."""


Watching = Callable[[str, int, float | None], None]


watching: ContextVar[Watching] = ContextVar("watching", default=lambda *_: None)
"""Called with the arguments of `begin` before a text is analysed; raises NotAnalysed to pass it
over. Outside the server nothing is passed over."""


class NotHere(InWords, LookupError):
    """An object is not in the database; `what` and `do` are sentences for the user. `run`: the run
    that should have it, so that the error's page can show the run's tabs."""

    status = 404

    def __init__(self, what: str, do: str | None = None, run: str | None = None) -> None:
        super().__init__(what, do)
        self.run = run


def no_run(run: str) -> NotHere:
    return NotHere(
        f"There is no run {run} here.",
        "It may have been deleted. Upload its files again to get it back under the same id.",
    )


def no_graph(run: str, slug: str) -> NotHere:
    return NotHere(f"Run {run} has no graph {slug}.", f"Its graphs are listed at /runs/{run}.", run)


def begin(text: str, size: int = 0, seconds: float | None = None) -> None:
    """Announces that a text is analysed from now on; a longer text may take more time. `seconds`
    replaces the server's time limit. Raises NotAnalysed if the text must be passed over."""
    watching.get()(text, size, seconds)
