import msgspec
from inductorscope.answers.parts import run_of
from inductorscope_server.web.ids import RunId
from inductorscope_server.web.openapi import RUNS
from inductorscope_server.web.pages import Page
from inductorscope_server.web.parts import Reading

INDUCTORSCOPE = "0.2"


class Toys(msgspec.Struct):
    """Toys `/runs/{run}/toys`."""

    run: str
    toys: int


def load(session: Reading, run: RunId) -> Toys:
    """Counts toys."""
    return Toys(run_of(session, run).id, 3)


PAGES = [Page("/runs/{run}/toys", load, "toys.html", RUNS, "Toys of a run", tab="Toys")]
