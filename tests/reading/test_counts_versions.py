"""The same model on another device with another torch gives a run of the same shape.

Captured here, with the torch that is installed, on the CPU; and on an H200 with torch 2.11.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from inductorscope.formats.vocabulary import STAGES
from inductorscope.reading.run import ReadResult
from inductorscope.store.runs.links import unpack_links
from inductorscope.store.runs.nodes import call_texts, fx_nodes
from inductorscope.store.tables.models import Graph, Links

from tests.support.readings import Database

pytestmark = pytest.mark.torch

OF_ONE_DEVICE = {"kernel_compiles"}
"""Roles of texts that only Triton's kernels have."""
SHOWN = {
    "dynamo", "pre_grad", "aot", "readable", "fx_runnable", "post_grad",
    "ir_pre", "ir_post", "code", "provenance", "kernel_stacks",
}  # fmt: skip


def shape_of(db: Database, result: ReadResult) -> list[dict[str, Any]]:
    return [graph_shape(db, graph) for graph in db.graphs(result)]


def graph_shape(db: Database, graph: Graph) -> dict[str, Any]:
    """All of a graph that device and version have no part in."""
    counts = db.node_counts(graph)
    with db.sessions() as session:
        row = session.get_one(Links, graph.id)
        nodes = fx_nodes(session, graph.id)
        calls = call_texts(session, graph.id)
    links = unpack_links(row.payload)
    return {
        "name": graph.name,
        "direction": graph.direction,
        "aot_id": graph.aot_id,
        "compile_id": graph.compile_id,
        "counts": (graph.node_count, graph.kernel_count, graph.call_count),
        "roles": set(db.texts(graph)) - OF_ONE_DEVICE,
        "nodes": [(node.name, node.target) for node in nodes],
        "stages with nodes": {stage for stage in counts if stage != "kernel_facts"},
        "linked stages": {
            stage for stage in links.stages if stage in {known.id for known in STAGES} | {"code"}
        },
        "nodes that are linked": {
            name for name in links.entities if name in {"fx:neg", "fx:maximum"}
        },
        "a kernel's nodes": [sorted(set(nodes) & {"neg", "maximum"}) for _, nodes in calls],
    }


def test_another_device_and_torch_give_the_same_shape(
    db: Database, captured_tutorial: Path, fixtures: Path
) -> None:
    here, there = db.read(captured_tutorial), db.read(fixtures / "cuda-foo1")
    one, other = db.run(here), db.run(there)
    assert (one.device_kind, other.device_kind) == ("cpu", "cuda")
    assert other.torch_version == "2.11.0+cu130"
    facts = json.loads((captured_tutorial / "capture.json").read_bytes())
    assert one.torch_version == facts["torch_version"] != other.torch_version
    shape = shape_of(db, here)
    assert shape == shape_of(db, there)
    (graph,) = shape
    assert graph["direction"] == "inference"
    assert graph["roles"] >= SHOWN
    assert graph["counts"] == (2, 1, 1)
    assert graph["a kernel's nodes"] == [["maximum", "neg"]]
    assert (one.graph_breaks, one.recompiles) == (other.graph_breaks, other.recompiles) == (0, 0)
    assert one.failure is other.failure is None
