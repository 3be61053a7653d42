"""Stores each content once."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence

from sqlalchemy import Select, delete, exists, func, select, text
from sqlalchemy.orm import Session

from inductorscope.store.contents.content import Content
from inductorscope.store.contents.objects import Objects, after_commit, objects_of
from inductorscope.store.database.bulk import row_of
from inductorscope.store.tables.models import Artifact, Blob, BlobPart
from inductorscope.store.trash import WITH_TRASH

ASKED_AT_ONCE = 500
BLOBS_LOCK = 0x1D5C0B10
"""Advisory lock of PostgreSQL: shared while adding blobs, exclusive while freeing them."""


PARTS = text(
    "INSERT INTO blob_parts (blob, part) VALUES (:blob, :part) ON CONFLICT (blob, part) DO NOTHING"
)


def add_blobs(session: Session, contents: Iterable[Content]) -> set[str]:
    """Stores contents that are not stored yet; returns their digests.

    Several transactions may add the same content at the same time. The caller must refer to the
    contents in the same transaction: no other one frees blobs until it ends.
    """
    _lock(session, shared=True)
    # In order of digest, so that two transactions cannot deadlock.
    wanted = {content.digest: content for content in contents}
    known = set(_existing(session, sorted(wanted)))
    statement = text(
        "INSERT INTO blobs (digest, size, stored_size, encoding, frames, data) VALUES "
        "(:digest, :size, :stored_size, :encoding, :frames, :data) ON CONFLICT (digest) DO NOTHING"
    )
    fresh = sorted(wanted.keys() - known)
    objects = objects_of(session)
    if objects is not None:
        contents = (wanted[digest] for digest in fresh)
        objects.put([(blob.digest, blob.stored_size, blob.stored) for blob in contents])
    in_sqlite = session.get_bind().dialect.name == "sqlite"
    for digest in fresh:
        content = wanted[digest]
        in_database = objects is None
        in_pieces = in_database and in_sqlite and not isinstance(content.stored, bytes)
        frames = None if content.index is None else content.index.pack()
        data = content.data() if in_database and not in_pieces else b""
        session.execute(statement, row_of(Blob, content, frames=frames, data=data))
        if in_pieces:
            _write_in_pieces(session, content)
        if content.index is not None and content.index.parts:
            # Also if another transaction stores the same content with its parts at the same time.
            rows = [{"blob": digest, "part": part} for part in content.index.parts]
            session.execute(PARTS, rows)
    return set(fresh)


def _write_in_pieces(session: Session, content: Content) -> None:
    """Copies a large content from its file into the database without holding it in memory. `data`
    must be the last column, as in every database made by this version: if another column followed,
    SQLite would write the zeros out."""
    room = "UPDATE blobs SET data = zeroblob(:size) WHERE digest = :digest RETURNING rowid"
    values = {"size": content.stored_size, "digest": content.digest}
    row = session.execute(text(room), values).scalar_one()
    driver = session.connection().connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    with driver.blobopen("blobs", "data", row) as blob:
        for piece in content.pieces():
            blob.write(piece)


def unused(session: Session, digests: Iterable[str]) -> list[str]:
    """Returns the digests that no artifact and no other content uses."""
    used = exists().where(Artifact.digest == Blob.digest)
    part = exists().where(BlobPart.part == Blob.digest)
    return [
        digest
        for some in _in_parts(sorted(set(digests)))
        for digest in session.scalars(
            select(Blob.digest).where(Blob.digest.in_(some), ~used, ~part),
            execution_options=WITH_TRASH,
        )
    ]


def contents_of(session: Session, runs: Select[str] | Sequence[str]) -> int:
    """Returns the bytes of the contents that runs use, each once."""
    own = select(Artifact.digest).where(Artifact.run_id.in_(runs))
    parts = select(BlobPart.part).where(BlobPart.blob.in_(own))
    digests = own.union(parts)
    size = session.scalar(select(func.sum(Blob.stored_size)).where(Blob.digest.in_(digests)))
    return int(size or 0)


def free_blobs(session: Session, digests: Iterable[str]) -> int:
    """Deletes the contents that nothing uses; returns the bytes freed.

    Call `hold_blobs` before deleting the artifacts.
    """
    freed = 0
    wanted, deleted = set(digests), set[str]()
    while gone := unused(session, wanted):
        deleted.update(gone)
        wanted = set()
        for some in _in_parts(gone):
            wanted.update(session.scalars(select(BlobPart.part).where(BlobPart.blob.in_(some))))
            statement = delete(Blob).where(Blob.digest.in_(some)).returning(Blob.stored_size)
            freed += sum(session.scalars(statement))
    objects = objects_of(session)
    if objects is not None and deleted:
        engine = session.get_bind()
        after_commit(session, lambda: delete_objects(Session(engine), objects, deleted))
    return freed


def delete_objects(session: Session, objects: Objects, digests: Iterable[str]) -> None:
    """Deletes objects that no row names, in a transaction of the session."""
    with session.begin():
        hold_blobs(session)  # otherwise a transaction could find the object and refer to it
        wanted = sorted(digests)
        objects.delete(set(wanted) - set(_existing(session, wanted)))
    session.close()


def hold_blobs(session: Session) -> None:
    """Waits for transactions that add blobs, and blocks new ones until this one ends.

    Without it, another transaction could refer to an existing blob while this one frees it.
    """
    _lock(session, shared=False)


def _existing(session: Session, digests: Sequence[str]) -> Iterator[str]:
    for some in _in_parts(digests):
        yield from session.scalars(select(Blob.digest).where(Blob.digest.in_(some)))


def _in_parts(digests: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(digests), ASKED_AT_ONCE):
        yield digests[start : start + ASKED_AT_ONCE]


def _lock(session: Session, *, shared: bool) -> None:
    """Takes PostgreSQL's lock; SQLite has a single writer anyway."""
    if session.get_bind().dialect.name == "postgresql":
        function = "pg_advisory_xact_lock_shared" if shared else "pg_advisory_xact_lock"
        session.execute(text(f"SELECT {function}({BLOBS_LOCK})"))
