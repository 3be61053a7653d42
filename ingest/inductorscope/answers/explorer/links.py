"""The links of a graph as the explorer reads them, which are stored packed in this form, and its
nodes."""

import msgspec
from sqlalchemy.orm import Session

from inductorscope.answers.parts import graph_of
from inductorscope.store.runs.links import Links
from inductorscope.store.runs.nodes import fx_nodes

NO_LINKS = Links(engine="", entities=[], stages={})


class Nodes(msgspec.Struct, frozen=True):
    """Nodes in the order of their lines, as parallel columns."""

    names: list[str]
    """Names without `fx:`."""
    targets: list[str]
    """The called function, as written."""
    types: list[str]
    """`f32[4, 256][256, 1]cpu`; empty without an annotation."""
    lines: list[int]
    inputs: list[list[int]]
    """Indices of each node's inputs."""


def nodes_of(session: Session, run: str, slug: str, stage: str) -> Nodes:
    nodes = fx_nodes(session, graph_of(session, run, slug).id, stage)
    places = {node.name: at for at, node in enumerate(nodes)}
    return Nodes(
        names=[node.name for node in nodes],
        targets=[node.target for node in nodes],
        types=[node.annotation or "" for node in nodes],
        lines=[node.line for node in nodes],
        inputs=[[places[name] for name in node.inputs if name in places] for node in nodes],
    )
