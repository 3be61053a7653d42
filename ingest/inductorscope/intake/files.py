"""A file of an upload."""

from pathlib import Path

import msgspec


class File(msgspec.Struct):
    """A file of an upload, with its role."""

    path: str
    """Path in the upload, without the folders that all files share."""
    role: str
    size: int
    absolute: Path
    digest: str
    """SHA-256 of its original bytes; empty until `Intake.settle` if hashing was deferred."""
    modified: int = 0
    """Time of its last change before it was read, in nanoseconds."""
    graph: str | None = None
    """Slug of the graph it belongs to."""
    kept: str = ""
    """Digest of the stored bytes if secrets were removed; `absolute` is then a copy."""
    source_path: str | None = None
    """Original path of a source that a capture copied."""

    @property
    def stored_digest(self) -> str:
        return self.kept or self.digest

    def head(self, size: int) -> bytes:
        """Returns its first bytes."""
        with self.absolute.open("rb") as stream:
            return stream.read(size)
