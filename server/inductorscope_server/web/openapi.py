"""What the API's description says about itself."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute

SCHEME = "token"

DESCRIPTION = """\
Every page has a JSON twin below `/api` at the same path. Errors are
`{"error": {"what", "do", "limit", "where"}}`: sentences for a person, the setting that set a limit,
and the part of the request it is about.

Requests that change something need `Authorization: Bearer …` when the server has a token, and are
refused when they come from a page of another site.
"""

RUNS, GRAPHS, JOBS, UPLOADS, FILES, SERVER = (
    "runs",
    "graphs",
    "jobs",
    "uploads",
    "files",
    "server",
)

TAGS = [
    {"name": RUNS, "description": "Runs: what was captured or uploaded, and its facts."},
    {"name": GRAPHS, "description": "Graphs of a run, their stages, kernels and links."},
    {"name": FILES, "description": "Stored files, as text by lines or as they came."},
    {"name": UPLOADS, "description": "Resumable uploads, one file after the other."},
    {"name": JOBS, "description": "Reading uploads and capturing models; progress as it happens."},
    {"name": SERVER, "description": "The server itself."},
]


def operation_id(route: APIRoute) -> str:
    """The handler's name, which says what the operation does."""
    return route.name


def install(app: FastAPI) -> None:
    """The description says also where the token goes; only some servers have one."""
    plain = app.openapi

    def with_token() -> dict[str, Any]:
        if app.openapi_schema is None:
            made = plain()
            schemes = made.setdefault("components", {}).setdefault("securitySchemes", {})
            schemes[SCHEME] = {"type": "http", "scheme": "bearer"}
            made["security"] = [{}, {SCHEME: []}]
        return plain()

    app.openapi = with_token  # type: ignore[method-assign]  # as FastAPI's documentation does
