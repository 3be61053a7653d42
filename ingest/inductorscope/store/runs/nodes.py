"""Reads packed nodes, calls and facts of kernels."""

import msgspec
from sqlalchemy.orm import Session

from inductorscope.analyze.fusing.facts import VERSION, GraphFacts
from inductorscope.formats.graph.fx_nodes import FxNode
from inductorscope.formats.machine.metadata import COMPILED, CompiledKernel
from inductorscope.formats.vocabulary import POST_GRAD
from inductorscope.store.contents.packing import decompressed
from inductorscope.store.database.storable import JsonObject
from inductorscope.store.runs.packing import CALLS, FACTS, GRAPH_FACTS, PackedNodes
from inductorscope.store.tables.models import GraphNodes

CallTexts = list[tuple[list[str], list[str]]]
NodesRow = dict[str, int | str | bytes]


def rows_of_nodes(graph_id: int, packed: PackedNodes) -> list[NodesRow]:
    return [
        {"graph_id": graph_id, "stage": stage, "count": count, "payload": payload}
        for stage, (count, payload) in packed.items()
    ]


def fx_nodes(session: Session, graph_id: int, stage: str = POST_GRAD) -> list[FxNode]:
    """Returns the nodes of an FX stage, in the order of its lines. Those of an inner graph have its
    class before their names, and here also before those of their inputs."""
    nodes = [msgspec.convert(node, FxNode) for node in _stored(session, graph_id, stage)]
    for node in nodes:
        graph_class, slash, _ = node.name.rpartition("/")
        if slash:
            node.inputs = [f"{graph_class}/{name}" for name in node.inputs]
    return nodes


def call_texts(session: Session, graph_id: int) -> CallTexts:
    """Returns arguments and FX nodes of each call, by its number."""
    plain = _plain(session, graph_id, CALLS)
    return (
        [] if plain is None else msgspec.json.decode(plain, type=list[tuple[list[str], list[str]]])
    )


def all_kernel_facts(session: Session, graph_id: int) -> dict[str, JsonObject]:
    """Returns the metadata of each kernel that has any."""
    plain = _plain(session, graph_id, FACTS)
    return {} if plain is None else msgspec.json.decode(plain, type=dict[str, JsonObject])


def compiled_kernels(facts: JsonObject) -> list[CompiledKernel]:
    """Returns the configurations among a kernel's facts, the one that ran first."""
    return msgspec.convert(facts.get(COMPILED, []), list[CompiledKernel])


def stored_facts(session: Session, graph_id: int) -> GraphFacts | None:
    """Returns the facts about a graph's kernels; None if lines are not aligned yet, or were by an
    older version."""
    plain = _plain(session, graph_id, GRAPH_FACTS)
    if plain is None:
        return None
    version, facts = msgspec.json.decode(plain, type=tuple[int, msgspec.Raw])
    return msgspec.json.decode(facts, type=GraphFacts) if version == VERSION else None


def _stored(session: Session, graph_id: int, stage: str) -> list[dict[str, object]]:
    plain = _plain(session, graph_id, stage)
    if plain is None:
        return []
    columns = msgspec.json.decode(plain, type=dict[str, list[object]])
    names = list(columns)
    return [dict(zip(names, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _plain(session: Session, graph_id: int, stage: str) -> bytes | None:
    stored = session.get(GraphNodes, (graph_id, stage))
    return None if stored is None else decompressed(stored.payload)
