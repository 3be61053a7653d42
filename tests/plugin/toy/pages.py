import msgspec
from inductorscope_server.web.openapi import RUNS
from inductorscope_server.web.pages import Page

INDUCTORSCOPE = "0.2"


class Toys(msgspec.Struct):
    """Toys `/runs/{run}/toys`."""

    run: str
    toys: int


def load(run: str) -> Toys:
    """Counts toys."""
    return Toys(run, 3)


PAGES = [Page("/runs/{run}/toys", load, "toys.html", RUNS, "Toys of a run", tab="Toys")]
