"""What the API's description says about itself."""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import sys
import typing
from collections.abc import Iterable
from dataclasses import is_dataclass
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


def install(app: FastAPI, answers: Iterable[object]) -> None:
    """The description says also where the token goes, which only some servers have, and what the
    fields of the structs mean."""
    plain = app.openapi

    def completed() -> dict[str, Any]:
        if app.openapi_schema is None:
            made = plain()
            parts = made.setdefault("components", {})
            parts.setdefault("securitySchemes", {})[SCHEME] = {"type": "http", "scheme": "bearer"}
            made["security"] = [{}, {SCHEME: []}]
            for struct in _nested(answers):
                schema = parts["schemas"].get(struct.__name__, {})
                properties = schema.get("properties", {})
                schema["required"] = list(properties)  # no answer leaves a field out
                for name, text in _field_texts(struct).items():
                    properties.get(name, {}).setdefault("description", text)
        return plain()

    app.openapi = completed  # type: ignore[method-assign]  # as FastAPI's documentation does


def _nested(types: Iterable[object]) -> set[type]:
    """The dataclasses in these types, and those in their fields."""
    found: set[type] = set()
    left = list(types)
    while left:
        each = left.pop()
        left += typing.get_args(each)
        if isinstance(each, type) and is_dataclass(each) and each not in found:
            found.add(each)
            left += typing.get_type_hints(each).values()
    return found


def _field_texts(struct: type) -> dict[str, str]:
    """The strings that stand below fields in the source, those of base classes too."""
    texts: dict[str, str] = {}
    for base in reversed(struct.__mro__):
        if not is_dataclass(base):
            continue
        body = _classes(base.__module__)[base.__name__].body
        for field, text in itertools.pairwise(body):
            match field, text:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(ast.Constant(str(written))):
                    texts[name] = " ".join(written.split())
    return texts


@functools.cache
def _classes(module: str) -> dict[str, ast.ClassDef]:
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {each.name: each for each in tree.body if isinstance(each, ast.ClassDef)}
