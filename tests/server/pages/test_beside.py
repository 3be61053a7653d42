"""Two texts side by side: what the page is of, and what it refuses."""

import re

import pytest
from inductorscope import urls
from starlette.testclient import TestClient


@pytest.fixture
def graph(filled: TestClient) -> str:
    """RUN/GRAPH of the one graph of the one run."""
    (run,) = set(re.findall(r'href="/runs/([0-9a-f]+)"', filled.get("/").text))
    found = re.search(rf'href="/runs/{run}/graphs/([^"?/]+)', filled.get(f"/runs/{run}").text)
    assert found
    return f"{run}/{found.group(1)}"


def test_both_sides_and_what_to_choose_from(filled: TestClient, graph: str) -> None:
    left, right = f"{graph}/readable", f"{graph}/kernel/triton_poi_fused_maximum_neg_0"
    found = filled.get("/api" + urls.beside(left, right)).json()
    assert found["left"]["stage"] == "readable"
    assert found["right"]["kernel"] == "triton_poi_fused_maximum_neg_0"
    assert found["right"]["graph"]["slug"] == graph.split("/")[1]
    assert graph.split("/")[0] in [run["id"] for run in found["runs"]]
    page = filled.get(urls.beside(left, right))
    assert page.status_code == 200
    assert 'data-kernel="triton_poi_fused_maximum_neg_0"' in page.text


@pytest.mark.parametrize(
    ("right", "what"), [("x/readable", "has no graph"), ("/nothing", "no stage nothing")]
)
def test_what_is_not_there_is_said(filled: TestClient, graph: str, right: str, what: str) -> None:
    answer = filled.get("/api" + urls.beside(f"{graph}/readable", graph + right))
    assert answer.status_code == 404
    assert what in answer.json()["error"]["what"]


def test_a_side_that_names_nothing_is_a_wrong_request(filled: TestClient, graph: str) -> None:
    assert filled.get("/api/beside", params={"left": graph, "right": "x"}).status_code == 422
    assert filled.get("/beside", params={"left": f"{graph}/readable"}).status_code == 422
    cut = filled.get("/beside", params={"left": f"{graph}/readable", "right": graph[:9]})
    assert cut.status_code == 422
    assert "copy the whole address again." in cut.text
