"""Errors of the database itself."""

from __future__ import annotations


class UnusableError(RuntimeError):
    """The database or its folder cannot be used; the message says why."""


class MigrationError(UnusableError):
    """The database cannot be upgraded to this version's tables; the message says why."""
