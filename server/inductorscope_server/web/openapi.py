"""The API's OpenAPI description."""

import ast
import functools
import inspect
import itertools
import sys
import typing
from collections.abc import Iterable
from typing import Any

import msgspec
from fastapi import FastAPI
from inductorscope.settings import Settings
from starlette.responses import Response

from inductorscope_server.web.errors import ErrorAnswer, documented

SCHEME = "token"

DESCRIPTION = """\
Every page has a JSON twin below `/api` at the same path. Errors are
`{"error": {"what", "do", "limit", "where"}}`: what happened, how to fix it, the setting that
defines the limit, and the part of the request that caused it.

Requests that change something need `Authorization: Bearer …` if the server has a token or accounts;
with accounts, all requests do, and show the runs that the sender may see. Requests that change
something from pages of other sites are refused. After many wrong tokens from one address, the next
ones are checked slowly, or refused with status 429.
"""

RUNS, GRAPHS, JOBS, UPLOADS, FILES, PEOPLE, SERVER = (
    "runs",
    "graphs",
    "jobs",
    "uploads",
    "files",
    "people",
    "server",
)

TAGS = [
    {"name": RUNS, "description": "Captured and uploaded runs."},
    {"name": GRAPHS, "description": "Graphs of a run, their stages, kernels and links."},
    {"name": FILES, "description": "Stored files, as lines of text or as raw bytes."},
    {"name": UPLOADS, "description": "Resumable uploads, file by file."},
    {
        "name": JOBS,
        "description": "Reading uploads, captures, diagnoses and benchmarks, with live progress.",
    },
    {"name": PEOPLE, "description": "Accounts, tokens and projects."},
    {"name": SERVER, "description": "The server itself."},
]


BYTES = "application/octet-stream"
SCHEMAS = "#/components/schemas/{name}"
STRUCTS: list[type[msgspec.Struct]] = [ErrorAnswer]
"""The structs that routes answer with, or send."""


def answers(
    kind: type[msgspec.Struct] | str | None, *errors: int, status: int = 200
) -> dict[str, Any]:
    """Returns the arguments of a route that answers with a struct, with a text or bytes of a media
    type, or with nothing; and with these statuses of errors.

    FastAPI would make the schema when the server starts, and check each answer with it."""
    if kind is None:
        return {
            "status_code": 204, "response_class": Response, "responses": documented(*errors)
        }  # fmt: skip
    given: dict[str, Any] = {"status_code": status}
    media, schema = "application/json", {"type": "string"}
    if not isinstance(kind, str):
        STRUCTS.append(kind)
        schema = _reference(kind)
    else:
        given["response_class"], media = Response, kind
        schema |= {"format": "binary"} if kind == BYTES else {}
    found = {"description": "Successful Response", "content": {media: {"schema": schema}}}
    return {**given, "responses": {status: found, **documented(*errors)}}


def _reference(kind: type) -> dict[str, Any]:
    return {"$ref": SCHEMAS.format(name=kind.__name__)}


def install(app: FastAPI, settings: Settings) -> None:
    """Adds the schemas of structs with the docstrings of their fields, the optional token and the
    settings' limits."""
    plain = app.openapi

    def completed() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = plain()
            parts = schema.setdefault("components", {})
            _, structs = msgspec.json.schema_components(
                STRUCTS, ref_template=SCHEMAS, schema_hook=_reference
            )
            parts["schemas"].update(structs)
            parts.setdefault("securitySchemes", {})[SCHEME] = {"type": "http", "scheme": "bearer"}
            schema["security"] = [{}, {SCHEME: []}]
            upload, file = (
                parts["schemas"][name] for name in ("UploadRequest", "UploadFileRequest")
            )
            upload["properties"]["files"]["maxItems"] = settings.max_members
            file["properties"]["size"]["maximum"] = settings.max_upload_bytes
            for struct in _nested(STRUCTS):
                described = parts["schemas"].get(struct.__name__, {})
                properties = described.get("properties", {})
                if not struct.__struct_config__.omit_defaults:
                    described["required"] = list(properties)
                for name, text in _field_texts(struct).items():
                    properties.get(name, {}).setdefault("description", text)
        return plain()

    app.openapi = completed  # type: ignore[method-assign]  # as FastAPI's documentation does


def _nested(types: Iterable[object]) -> set[type[msgspec.Struct]]:
    """Returns the structs in these types and, recursively, in their fields."""
    structs: set[type[msgspec.Struct]] = set()
    left = list(types)
    while left:
        each = left.pop()
        left += typing.get_args(each)
        if isinstance(each, type) and issubclass(each, msgspec.Struct) and each not in structs:
            structs.add(each)
            left += typing.get_type_hints(each).values()
    return structs


def _field_texts(struct: type) -> dict[str, str]:
    """Returns the docstrings of the fields, including those of base classes, from the source."""
    texts: dict[str, str] = {}
    for base in reversed(struct.__mro__):
        if base is msgspec.Struct or not issubclass(base, msgspec.Struct):
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
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
