"""A run gets another name and other tags, by the API and by the form of its pages."""

from typing import Any

import pytest
from starlette.testclient import TestClient


def rows(client: TestClient, **query: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get("/api/", params=query).json()["runs"]
    return found


def test_search_finds_the_new_name_and_tags_alone(filled: TestClient) -> None:
    (run,) = rows(filled)
    name = "llama-3.1-8b_bf16_batch16 " + "x" * 54
    address = f"/api/runs/{run['id']}"
    assert filled.patch(address, json={"name": name, "tags": ["Nightly"]}).status_code == 204
    (found,) = rows(filled, q="batch16 nightly")
    assert (found["name"], found["tags"]) == (name, ["Nightly"])
    assert not rows(filled, q="foo1 fixture")
    assert rows(filled, q="triton_poi")  # the kernels' names are found as before

    form = {"name": "foo1", "tags": "fixture, , two words"}
    shown = filled.post(f"/runs/{run['id']}/name", data=form)
    assert (shown.status_code, shown.headers["location"]) == (303, f"/runs/{run['id']}")
    (found,) = rows(filled, q="foo1")
    assert found["tags"] == ["fixture", "two words"]
    assert filled.patch(address, json={"tags": ["fixture"]}).status_code == 204
    assert rows(filled)[0] == run


@pytest.mark.parametrize("change", [{"name": ""}, {"name": "a\nb"}, {"label": "x"}, {"tags": "x"}])
def test_what_is_no_name_is_refused(filled: TestClient, change: dict[str, Any]) -> None:
    (run,) = rows(filled)
    assert filled.patch(f"/api/runs/{run['id']}", json=change).status_code == 422
    assert filled.patch("/api/runs/0123456789abcdef", json={"name": "x"}).status_code == 404
