"""The description of the API is true: what it documents is what comes, and wrong input gets 4xx.

Schemathesis is imported by the test that needs it: every process of a session collects all tests.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from fastapi import FastAPI
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from inductorscope.settings import Settings
from inductorscope_server.pages.table import PAGES
from inductorscope_server.web.app import create_app
from starlette.testclient import TestClient

if TYPE_CHECKING:
    from schemathesis import Case

EXAMPLES = 2
RULES_BESIDES = {
    "/api/": "a cursor comes from the page before",
    "/api/uploads": "paths must be safe and differ",
    "/api/captures": "models must exist, options fit each other",
    "/api/runs/{run}/trials/one": "a change has known fields",
}
"""Operations with rules that a schema cannot say: valid by the schema, they may still get 422."""


@pytest.fixture(scope="module")
def app(filled_settings: Settings) -> FastAPI:
    return create_app(dataclasses.replace(filled_settings, host="testserver"), alone=True)


@pytest.fixture(scope="module")
def api(app: FastAPI) -> Any:
    """The description, with the application behind it."""
    import schemathesis

    return schemathesis.openapi.from_asgi("/api/openapi.json", without_lifespan(app))


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


@pytest.fixture(scope="module")
def known(app: FastAPI) -> Iterator[dict[str, Any]]:
    """Path parameters that lead somewhere; the run gets back the name that it had."""
    client = TestClient(app, base_url="http://testserver")
    row = client.get("/api/").json()["runs"][0]
    run = row["id"]
    graph = client.get(f"/api/runs/{run}").json()["graphs"][0]["slug"]
    explorer = client.get(f"/api/runs/{run}/graphs/{graph}/explorer").json()
    kernel = explorer["kernels"][0]
    call = kernel["calls"][0]
    files = [file for stage in explorer["stages"] for file in stage["files"]]
    yield {
        "run": run,
        "slug": graph,
        "kernel": f"{kernel['name']}:{call['handle']}",
        "permalink": call["permalink"],
        "artifact": files[0]["artifact"],
    }
    client.patch(f"/api/runs/{run}", json={"name": row["name"], "tags": row["tags"]})


# Not here: the stream, which lasts as long as its job, deleting the run the others look at, and
# exports, each of which takes seconds.
LEFT_OUT = {
    ("GET", "/api/jobs/{job}/events"),
    ("DELETE", "/api/runs/{run}"),
    ("GET", "/api/runs/{run}/export"),
    ("GET", "/api/compare/{run}/{other}/export"),
}


@pytest.mark.parametrize("mode", ["positive", "negative"])
def test_the_api_is_as_described(api: Any, known: dict[str, Any], mode: str) -> None:
    """Requests that fit the description and requests that do not."""
    from schemathesis import GenerationMode
    from schemathesis.core.failures import FailureGroup

    def leading_somewhere(case: Case[Any]) -> Case[Any]:
        """Every other time, so that more than 404 is seen."""
        if case.path_parameters and len(str(case.path_parameters)) % 2:
            case.path_parameters.update(
                {name: known[name] for name in case.path_parameters if name in known}
            )
        return case

    troubles = []
    for found in api.get_all_operations():
        operation = found.ok()
        if (operation.method.upper(), operation.path) in LEFT_OUT:
            continue
        try:
            cases = operation.as_strategy(generation_mode=GenerationMode(mode))
            if mode == "positive":
                cases = cases.map(leading_somewhere)
            check(cases, operation.path)
        except Unsatisfiable:
            assert mode == "negative"  # nothing that could be wrong
        except FailureGroup as failure:
            troubles.append(f"{operation.label}: {failure} {failure.exceptions}")
    assert not troubles, "\n".join(troubles)


def check(cases: Any, path: str) -> None:
    from schemathesis.checks import positive_data_acceptance

    excluded = [positive_data_acceptance] if path in RULES_BESIDES else []

    @given(case=cases)
    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    def answers_as_described(case: Case[Any]) -> None:
        case.call_and_validate(excluded_checks=excluded)

    answers_as_described()


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
    described = filled.get("/api/openapi.json").json()["paths"]
    pages = {page.path for page in PAGES}
    for path in pages:
        assert f"/api{path}" in described, path
