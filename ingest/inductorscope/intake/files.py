"""A file of an upload."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(slots=True)
class File:
    """One file of an upload, and what it was taken for."""

    path: str
    """Relative, without the folders that all files share."""
    role: str
    size: int
    absolute: Path
    digest: str
    """SHA-256 of its bytes as they are; empty until `Intake.settle`, where that was asked for."""
    modified: int = 0
    """When it was changed last, before it was looked at: nanoseconds."""
    graph: str | None = None
    """Slug of the graph it belongs to."""
    kept: str = ""
    """Digest of what is stored, where secrets were removed. `absolute` is then a copy."""
    source_path: str | None = None
    """Of a source that a capture copied: its path on the machine where it ran."""

    @property
    def stored_digest(self) -> str:
        """Digest of what is stored."""
        return self.kept or self.digest
