"""Two texts side by side."""

from __future__ import annotations

from inductorscope_server.shapes.base import GraphName, RunName, Shape


class BesideGraph(Shape):
    """The graph that one side's text is of."""

    run: RunName
    graph: GraphName
    graphs: list[GraphName]
    """All graphs of the run, to choose another."""


class BesideSide(BesideGraph):
    """One side: the text of a stage, or of one kernel."""

    stage: str
    kernel: str | None
    """Which one, where the stage shows one kernel."""


class Beside(Shape):
    """Side by side `/beside`."""

    left: BesideSide
    right: BesideSide
    runs: list[RunName]
    """Runs to choose from, the newest first."""
