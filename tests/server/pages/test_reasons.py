"""The API says why a line is linked as it is."""

from starlette.testclient import TestClient


def test_a_line_of_a_kernel(filled: TestClient, graph: str) -> None:
    answer = filled.get(f"/api{graph}/reason", params={"stage": "code", "line": 78}).json()
    assert (answer["stage"], answer["line"]) == ("code", 78)
    (reason,) = answer["reasons"]
    assert reason["nodes"] == ["fx:neg"]
    assert ": `neg` of op0's loop body" in reason["sentence"]


def test_a_line_that_computes_nothing_has_no_reason(filled: TestClient, graph: str) -> None:
    answer = filled.get(f"/api{graph}/reason", params={"stage": "code", "line": 1})
    assert answer.status_code == 200
    assert answer.json()["reasons"] == []


def test_what_cannot_be_asked(filled: TestClient, graph: str) -> None:
    asked: dict[str, str | int] = {"stage": "code", "line": 78}
    assert filled.get(f"/api{graph}x/reason", params=asked).status_code == 404
    for name, wrong in (("line", 0), ("line", 10**9), ("stage", "readable")):
        params = {**asked, name: wrong}
        assert filled.get(f"/api{graph}/reason", params=params).status_code == 422
