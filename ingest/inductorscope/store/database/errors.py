"""Errors of the database itself."""

from __future__ import annotations

from sqlalchemy.exc import DBAPIError


class UnusableError(RuntimeError):
    """The database or its folder cannot be used; the message says why."""


class MigrationError(UnusableError):
    """The database cannot be upgraded to this version's tables; the message says why."""


def is_away(error: DBAPIError) -> bool:
    """Whether the connection was lost or cannot be made, unlike a statement that is refused."""
    return error.connection_invalidated or error.statement is None
