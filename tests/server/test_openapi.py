"""The description of the API is true: what it documents is what comes, and wrong input gets 4xx."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from inductorscope.settings import Settings
from inductorscope_server.app import create_app
from schemathesis.checks import positive_data_acceptance
from starlette.testclient import TestClient

EXAMPLES = 25
RULES_BESIDES = {
    "/api/uploads": "paths must be safe and differ",
    "/api/captures": "models must exist, options fit each other",
    "/api/artifacts/{artifact}/text": "the last line is not before the first",
}
"""Operations with rules that a schema cannot say: valid by the schema, they may still get 422."""


@pytest.fixture(scope="module")
def api(filled_settings: Settings) -> Any:
    """The schema of an application that holds a run, with addresses that lead somewhere."""
    app = create_app(dataclasses.replace(filled_settings, host="testserver"))
    schema = schemathesis.openapi.from_asgi("/api/openapi.json", without_lifespan(app))
    with TestClient(app, base_url="http://127.0.0.1") as client:
        known = addresses(client)

    @schema.hook
    def map_path_parameters(context: Any, path_parameters: dict[str, Any] | None) -> Any:
        """Every other time what is there, so that more than 404 is seen."""
        if not path_parameters or hash(str(path_parameters)) % 2:
            return path_parameters
        return {name: known.get(name, value) for name, value in path_parameters.items()}

    return schema


def without_lifespan(app: Any) -> Any:
    """The client of the checks starts and stops the application anew for each request."""

    async def http_only(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "lifespan":
            await app(scope, receive, send)
            return
        for step in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{step}.complete"})

    return http_only


def addresses(client: TestClient) -> dict[str, Any]:
    run = client.get("/api/").json()["runs"][0]["id"]
    graph = client.get(f"/api/runs/{run}").json()["graphs"][0]["slug"]
    explorer = client.get(f"/api/runs/{run}/graphs/{graph}/explorer").json()
    kernel = explorer["kernels"][0]
    call = kernel["calls"][0]
    files = [file for stage in explorer["stages"] for file in stage["files"]]
    return {
        "run": run,
        "slug": graph,
        "kernel": f"{kernel['name']}:{call['handle']}",
        "permalink": call["permalink"],
        "artifact": files[0]["artifact"],
    }


lazy = schemathesis.pytest.from_fixture("api")


# Not here: the stream, which lasts as long as its job, and deleting the run the others look at.
@(
    lazy.exclude(path="/api/jobs/{job}/events")
    .exclude(path="/api/runs/{run}", method="DELETE")
    .parametrize()
)
@settings(
    max_examples=EXAMPLES,
    derandomize=True,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
def test_the_api_is_as_described(case: schemathesis.Case) -> None:
    excluded = [positive_data_acceptance] if case.path in RULES_BESIDES else []
    case.call_and_validate(excluded_checks=excluded)


def test_everything_is_described(filled: TestClient) -> None:
    described = filled.get("/api/openapi.json").json()
    tags = {tag["name"] for tag in described["tags"]}
    names = set()
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            where = f"{method} {path}"
            assert operation.get("summary"), where
            assert set(operation["tags"]) <= tags, where
            assert operation["tags"], where
            for status, answer in operation["responses"].items():
                assert answer["description"], (where, status)
            names.add(operation["operationId"])
    assert len(names) == sum(map(len, described["paths"].values()))


def test_every_page_has_its_twin(filled: TestClient) -> None:
    app: Any = filled.app
    described = filled.get("/api/openapi.json").json()["paths"]
    pages = {
        route.path
        for route in app.routes
        if not getattr(route, "include_in_schema", True) and "GET" in getattr(route, "methods", ())
    }
    without = {"/login", "/jobs/{job}/row", "/jobs/{job}/panel"}
    assert pages - without
    for path in pages - without:
        assert f"/api{path}" in described
