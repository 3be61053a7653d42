"""The nodes of a graph, for its picture."""

from starlette.testclient import TestClient


def test_nodes_name_what_they_take(filled: TestClient, graph: str) -> None:
    nodes = filled.get(f"/api{graph}/nodes").json()
    names = nodes["names"]
    assert len({len(column) for column in nodes.values()}) == 1
    taken = {
        names[at]: [names[other] for other in inputs] for at, inputs in enumerate(nodes["inputs"])
    }
    assert taken["neg"] == ["arg0_1"]
    assert taken["maximum"] == ["arg1_1", "neg"]
    assert nodes["targets"][names.index("neg")] == "torch.ops.aten.neg.default"
    assert nodes["types"][names.index("neg")] == "u8[1, 8]"


def test_a_stage_without_inputs_has_its_nodes(filled: TestClient, graph: str) -> None:
    nodes = filled.get(f"/api{graph}/nodes", params={"stage": "readable"}).json()
    assert "neg" in nodes["names"]


def test_no_such_graph_or_stage(filled: TestClient, graph: str) -> None:
    answer = filled.get(f"/api{graph}x/nodes")
    assert answer.status_code == 404
    assert "has no graph" in answer.json()["error"]["what"]
    assert filled.get(f"/api{graph}/nodes", params={"stage": "kernel"}).status_code == 422
