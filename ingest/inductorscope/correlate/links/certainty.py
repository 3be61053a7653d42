"""How certain the links of lines and nodes are, for everything that says so.

The explorer computes the same in `frontend/src/explorer/state/certainty.ts`.
"""

from collections.abc import Mapping

from inductorscope.correlate.links.model import Confidence, GraphLinks
from inductorscope.formats.vocabulary import CODE


def nodes_of_lines(links: GraphLinks, stage: str = CODE) -> dict[int, dict[str, int]]:
    """Line → the FX nodes that it refers to, each with its highest certainty over all calls."""
    result: dict[int, dict[str, int]] = {}
    columns = links.stages.get(stage)
    if columns is None:
        return result
    fx = [name if name.startswith("fx:") else None for name in links.entities]
    for line, entity, certainty in columns.references():
        name = fx[entity]
        if name is not None:
            nodes = result.setdefault(line, {})
            if nodes.get(name, 0) < certainty:
                nodes[name] = certainty
    return result


def certainty_of_line(nodes: Mapping[str, int]) -> Confidence:
    """The certainty of a kernel's line that refers to these nodes: that of the most certain one."""
    return Confidence(max(nodes.values(), default=Confidence.kernel))


def certainty_of_nodes(lines: Mapping[int, Mapping[str, int]]) -> dict[str, Confidence]:
    """Node → the certainty of the line that is most certainly its own."""
    result: dict[str, int] = {}
    for nodes in lines.values():
        for name, certainty in nodes.items():
            if result.get(name, 0) < certainty:
                result[name] = certainty
    return {name: Confidence(certainty) for name, certainty in result.items()}
