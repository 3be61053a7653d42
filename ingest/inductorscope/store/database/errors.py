"""Errors of the database itself."""

from __future__ import annotations

import re

from sqlalchemy.exc import DBAPIError

_LACKS = re.compile(r"no such (?:table|column): |table \S+ has no column named ")
"""Matches what SQLite says of a table or column that is not there."""
_LACKS_STATES = ("42P01", "42703")
"""What PostgreSQL says of it."""


class UnusableError(RuntimeError):
    """The database or its folder cannot be used; the message says why."""


class MigrationError(UnusableError):
    """The database cannot be upgraded to this version's tables; the message says why."""


def is_away(error: DBAPIError) -> bool:
    """Whether the connection was lost or cannot be made, unlike a statement that is refused."""
    return error.connection_invalidated or error.statement is None


def lacks_tables(error: Exception) -> bool:
    """Whether a statement names a table or column that the database has not."""
    cause = getattr(error, "orig", None)
    return bool(_LACKS.match(str(cause))) or getattr(cause, "sqlstate", None) in _LACKS_STATES
