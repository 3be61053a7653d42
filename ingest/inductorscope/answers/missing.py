"""Raised when the requested object is not in the database."""

from inductorscope.errors import InWords


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
