"""The health check of the server and its database."""

from functools import partial

import msgspec
from fastapi import APIRouter
from inductorscope.disk import Disk
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from starlette.responses import Response

from inductorscope_server.access.rules import OPEN
from inductorscope_server.web import openapi
from inductorscope_server.web.answers import as_json
from inductorscope_server.web.errors import Refusal
from inductorscope_server.web.parts import Parts, Shared

DATABASE_SECONDS = 3.0
"""How long the database may take to answer."""

api = APIRouter(tags=[openapi.SERVER], dependencies=[OPEN])


class Health(msgspec.Struct, frozen=True):
    """The server is healthy and reaches its database."""

    ok: bool
    disk: str | None
    """What is wrong with the disk of the data folder, if there is little room left."""


@api.get("/healthz", summary="Health of the server", **openapi.answers(Health, 503))
async def healthz(parts: Shared) -> Response:
    """For load balancers and scripts; needs no token.

    On a full disk, pages still work and runs can be deleted, so the answer is 200 with a sentence.
    """
    if parts.stopping.is_set():
        raise Refusal(503, "The server is stopping.")
    try:
        return as_json(await parts.health.result(partial(_health, parts), DATABASE_SECONDS))
    except (SQLAlchemyError, TimeoutError) as error:
        raise Refusal(503, "The database does not answer.") from error


def _health(parts: Parts) -> Health:
    with parts.read() as session:
        session.execute(text("SELECT 1"))
    disk = Disk.of(parts.settings.data)
    return Health(ok=True, disk=disk.sentence() if disk.lacks() else None)
