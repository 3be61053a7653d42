"""Contents in an object store: S3, Google Cloud, Azure, or a folder. The database keeps their rows.

An object is written before the row that names it is committed, and deleted after the row's deletion
is committed. So at worst a crash leaves an object without a row, which `inductorscope doctor`
finds.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from sqlalchemy import Engine, event
from sqlalchemy.orm import Session

from inductorscope.errors import InWords
from inductorscope.settings import PREFIX, SettingError, Settings

AT_ONCE = 16
"""Objects that are written at the same time."""
OPTION = "contents"
LISTED = 1000
FOLDER = "file://"
SHOWN = 200
"""Characters of an error's text."""


class OutOfReachError(InWords):
    """The object store does not answer, or refuses."""

    status = 503


@contextmanager
def reaching() -> Iterator[None]:
    """Turns an error of the object store into a sentence; a missing object raises
    FileNotFoundError."""
    from obstore.exceptions import BaseError

    try:
        yield
    except BaseError as error:
        what = str(error).partition("\n")[0][:SHOWN]
        raise OutOfReachError(
            f"The object store does not answer: {what}", "Try again in a moment."
        ) from error


class Objects:
    """The objects of one installation, named by the digests of their plain contents."""

    def __init__(self, store: Any) -> None:  # noqa: ANN401  # any of obstore's
        import obstore

        self._obstore, self._store = obstore, store

    def put(self, contents: Sequence[tuple[str, int, bytes | Path | IO[bytes]]]) -> None:
        """Writes objects that are not there yet, given as digest, size and bytes."""
        with ThreadPoolExecutor(AT_ONCE) as threads:
            list(threads.map(self._put, contents))

    @reaching()
    def _put(self, content: tuple[str, int, bytes | Path | IO[bytes]]) -> None:
        digest, size, stored = content
        key = key_of(digest)
        if isinstance(stored, bytes):
            try:
                self._obstore.put(self._store, key, stored, mode="create")
            except self._obstore.exceptions.AlreadyExistsError:
                # Left by a crash; another version may have compressed it differently.
                if self._obstore.head(self._store, key)["size"] != size:
                    self._obstore.put(self._store, key, stored)
        elif self.size(digest) != size:
            if not isinstance(stored, Path):
                stored.seek(0)
            self._obstore.put(self._store, key, stored)  # large ones go in parts

    @reaching()
    def size(self, digest: str) -> int | None:
        """Returns the size of an object; None if there is none."""
        try:
            return int(self._obstore.head(self._store, key_of(digest))["size"])
        except FileNotFoundError:
            return None

    @reaching()
    def get(self, digest: str, start: int, end: int) -> bytes | None:
        """Returns a range of an object; None if there is none."""
        if start >= end:
            return b""
        try:
            return bytes(self._obstore.get_range(self._store, key_of(digest), start=start, end=end))
        except FileNotFoundError:
            return None

    @reaching()
    def delete(self, digests: Iterable[str]) -> None:
        keys = [key_of(digest) for digest in digests]
        for start in range(0, len(keys), LISTED):
            self._obstore.delete(self._store, keys[start : start + LISTED])

    def digests(self) -> Iterator[str]:
        """Yields the digests of all objects."""
        with reaching():
            for some in self._obstore.list(self._store, "contents/", chunk_size=LISTED):
                yield from (str(found["path"]).rpartition("/")[2] for found in some)


def key_of(digest: str) -> str:
    return f"contents/{digest[:2]}/{digest}"


def open_store(settings: Settings) -> Any:  # noqa: ANN401  # one of obstore's, or None
    """Opens the store that the settings name, if they name one."""
    url = settings.contents_url
    if not url:
        return None
    try:
        from obstore.store import from_url
    except ImportError:
        raise SettingError(
            f"{PREFIX}CONTENTS_URL needs obstore: `pip install 'inductorscope[objects]'`."
        ) from None
    try:
        if url.startswith(FOLDER):
            return from_url(url, mkdir=True, automatic_cleanup=True)
        return from_url(url)
    except Exception as error:
        raise SettingError(f"{PREFIX}CONTENTS_URL cannot be used: {error}") from error


def objects_of(session: Session) -> Objects | None:
    """Returns the object store of a session's engine; None if contents are in the database."""
    objects = session.get_bind().get_execution_options().get(OPTION)
    assert objects is None or isinstance(objects, Objects)
    return objects


def with_objects(engine: Engine, settings: Settings) -> Engine:
    """Lets sessions of an engine find the object store."""
    store = open_store(settings)
    if store is not None:
        engine.update_execution_options(**{OPTION: Objects(store)})
    return engine


def after_commit(session: Session, work: Callable[[], None]) -> None:
    """Calls `work` once the session's transaction is committed; never, if it is rolled back."""

    def committed(_session: Session) -> None:
        event.remove(session, "after_soft_rollback", rolled_back)
        work()

    def rolled_back(*_: object) -> None:
        if event.contains(session, "after_commit", committed):
            event.remove(session, "after_commit", committed)

    event.listen(session, "after_commit", committed, once=True)
    event.listen(session, "after_soft_rollback", rolled_back, once=True)
