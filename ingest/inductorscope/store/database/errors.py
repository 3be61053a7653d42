"""Errors of the database itself."""

import re

from sqlalchemy.exc import DBAPIError

from inductorscope.errors import InWords

_LACKS = re.compile(r"no such (?:table|column): |table \S+ has no column named ")
"""Matches SQLite's messages about missing tables and columns."""
_LACKS_STATES = ("42P01", "42703")
"""PostgreSQL's codes for the same."""


class UnusableError(InWords, RuntimeError):
    """The database or its folder cannot be used; the message says why."""


class MigrationError(UnusableError):
    """The database cannot be upgraded to this version's tables; the message says why."""


def is_away(error: DBAPIError) -> bool:
    """Returns whether the connection was lost or cannot be made, rather than a statement
    refused."""
    return error.connection_invalidated or error.statement is None


def lacks_tables(error: Exception) -> bool:
    """Returns whether a statement names a table or column that the database lacks."""
    cause = getattr(error, "orig", None)
    return bool(_LACKS.match(str(cause))) or getattr(cause, "sqlstate", None) in _LACKS_STATES
