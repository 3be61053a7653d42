"""The links of a graph as the explorer reads them, which are stored packed in this form, and its
nodes."""

from bisect import bisect_left, bisect_right

import msgspec
from sqlalchemy.orm import Session

from inductorscope.answers.parts import graph_of
from inductorscope.correlate.links.model import GraphLinks
from inductorscope.store.runs.links import Links
from inductorscope.store.runs.nodes import fx_nodes


def ir_names(links: GraphLinks, first: int, last: int, call: str) -> set[str]:
    """Returns the scheduler nodes whose operations lines `first` to `last` of the output code refer
    to, in one call (`call:NAME:HANDLE`) of the kernel that these lines define."""
    code = links.stages.get("code")
    if code is None:
        return set()
    of_lines = slice(bisect_left(code.lines, first), bisect_right(code.lines, last))
    used = {
        links.entities[entity]
        for entity, limit in zip(code.entities[of_lines], code.call[of_lines], strict=True)
        if limit < 0 or links.entities[limit] == call
    }
    return {name[3:].partition(".")[0] for name in used if name.startswith("op:")}


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
