"""The health check of the server and its database."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import APIRouter
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from inductorscope_server.web import openapi
from inductorscope_server.web.errors import Refusal, documented
from inductorscope_server.web.parts import Reading, Shared

api = APIRouter(tags=[openapi.SERVER])


@dataclass(frozen=True, slots=True)
class Health:
    """The server is healthy and reaches its database."""

    ok: bool


@api.get("/healthz", summary="Health of the server", responses=documented(503))
def healthz(session: Reading, parts: Shared) -> Health:
    """For load balancers and scripts; needs no token."""
    if parts.stopping.is_set():
        raise Refusal(503, "The server is stopping.")
    try:
        session.execute(text("SELECT 1"))
    except SQLAlchemyError as error:
        raise Refusal(503, "The database does not answer.") from error
    return Health(ok=True)
