"""Compares stored contents with the rows that use them."""

import hashlib
from collections.abc import Iterator

import msgspec
import zstandard
from sqlalchemy import CompoundSelect, func, select
from sqlalchemy.orm import Session

from inductorscope.fields import Bytes
from inductorscope.formats.secrets import REMOVED
from inductorscope.store.contents.texts import stored_text
from inductorscope.store.database.engine import Sessions
from inductorscope.store.tables.models import Artifact, Blob, BlobPart
from inductorscope.store.trash import WITH_TRASH

CHECKED_AT_ONCE = 100
"""Contents read in one transaction: a long one would keep SQLite's WAL from being emptied."""


def uses() -> CompoundSelect[str, str]:
    """Selects each run with each content that it uses, directly or as part of a log."""
    parts = select(Artifact.run_id, BlobPart.part).join(BlobPart, BlobPart.blob == Artifact.digest)
    return select(Artifact.run_id, Artifact.digest).union(parts)


class Shares(msgspec.Struct, frozen=True):
    """Sizes of contents by how many runs use them. The bytes sum to `stored`."""

    contents: int
    stored: int
    own: Bytes
    """Bytes of contents that one run uses."""
    shared: Bytes
    """Bytes of contents that several runs use."""
    unused: Bytes
    saved: int
    """Additional bytes that it would take to store shared contents once for each run."""


def shares(session: Session) -> Shares:
    """Sums the sizes of all contents."""
    used = uses().subquery()
    digest = used.c.digest
    runs = select(digest, func.count().label("runs")).group_by(digest).subquery()
    sizes = Blob.stored_size
    count = func.coalesce(runs.c.runs, 0)
    row = session.execute(
        select(
            func.count(),
            func.sum(sizes),
            func.sum(sizes).filter(count == 1),
            func.sum(sizes).filter(count > 1),
            func.sum(sizes).filter(count == 0),
            func.sum(sizes * (count - 1)).filter(count > 1),
        ).join(runs, runs.c.digest == Blob.digest, isouter=True),
        execution_options=WITH_TRASH,
    ).one()
    return Shares(*(int(value or 0) for value in row))


def damaged_contents(sessions: Sessions) -> Iterator[str]:
    """Reads every content and yields the digests of those that differ from what was stored."""
    with sessions() as session:
        digests = list(session.scalars(select(Blob.digest).order_by(Blob.digest)))
    for start in range(0, len(digests), CHECKED_AT_ONCE):
        with sessions() as session:
            for digest in digests[start : start + CHECKED_AT_ONCE]:
                if not _is_sound(session, digest):
                    yield digest


def _is_sound(session: Session, digest: str) -> bool:
    found, size, scrubbed, end = hashlib.sha256(), 0, False, b""
    try:
        content = stored_text(session, digest)
        if content is None:  # deleted meanwhile
            return True
        for chunk in content.chunks():
            found.update(chunk)
            size += len(chunk)
            scrubbed = scrubbed or REMOVED in end + chunk
            end = chunk[-len(REMOVED) :]
    except (zstandard.ZstdError, msgspec.MsgspecError, AssertionError, IndexError):
        return False
    # A content that secrets were removed from keeps the digest of the original bytes.
    return size == content.size and (found.hexdigest() == digest or scrubbed)


def runs_with(session: Session, digest: str) -> list[str]:
    """Returns the runs that use a content."""
    used = uses().subquery()
    runs = select(used.c.run_id).where(used.c.digest == digest)
    return list(session.scalars(runs, execution_options=WITH_TRASH))
