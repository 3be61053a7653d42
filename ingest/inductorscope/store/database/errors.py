"""Errors of the database itself."""

from __future__ import annotations


class MigrationError(RuntimeError):
    """The database cannot be upgraded to this version's tables; the message says why."""
