"""What can go wrong with the database itself."""

from __future__ import annotations


class MigrationError(RuntimeError):
    """The database cannot be brought to this version's tables; the message says why."""
