"""Backs up an installation to one file: its database, and uploads that wait."""

import shutil
import tarfile
import tempfile
from contextlib import suppress
from pathlib import Path

import msgspec
import zstandard
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.formats.sizes import MIB
from inductorscope.jobs.queue.engine import make_client, prepare
from inductorscope.jobs.queue.reaper import Reaper
from inductorscope.jobs.uploads import Uploads, open_uploads
from inductorscope.settings import PREFIX, Settings
from inductorscope.store.contents.objects import objects_of
from inductorscope.store.database.copies import Copy, copy_database, put_database_back
from inductorscope.store.database.engine import engine_of, sessions
from inductorscope.store.database.errors import UnusableError
from inductorscope.store.tables.models import Blob, Run

ABOUT, CONTENTS = "about.json", "contents"
PIECE = 8 * MIB
LEVEL = 3


def back_up(settings: Settings, target: Path) -> Copy:
    """Writes a backup; the file appears when it is complete. Servers and workers keep running."""
    prepare(settings)
    with (
        engine_of(settings) as engine,
        tempfile.TemporaryDirectory(dir=target.parent, prefix=".backup-") as name,
    ):
        folder = Path(name) / "backup"
        folder.mkdir()
        about = copy_database(engine, folder)
        (folder / ABOUT).write_bytes(msgspec.json.encode(about))
        with sessions(engine, read_only=True)() as session:
            _copy_objects(session, folder / CONTENTS)
        # After the rows: files that disappear meanwhile have been read.
        _copy_uploads(open_uploads(settings), folder / "uploads")
        packed = Path(name) / "packed"
        with (
            zstandard.open(packed, "wb", zstandard.ZstdCompressor(LEVEL)) as stream,
            tarfile.open(fileobj=stream, mode="w|") as archive,
        ):
            archive.add(folder, "")
        packed.chmod(0o600)
        packed.rename(target)
    return about


def restore(settings: Settings, source: Path, *, replace: bool = False) -> Copy:
    """Replaces everything by a backup; servers and workers keep running. Raises UnusableError."""
    prepare(settings)
    with engine_of(settings) as engine:
        factory = sessions(engine)
        with factory() as session:
            if not replace and session.scalar(select(Run.id).limit(1)) is not None:
                raise UnusableError(
                    "There are runs in this database, which restoring would replace. Add --replace "
                    "if they may go."
                )
        with tempfile.TemporaryDirectory(dir=settings.data, prefix="reading-") as name:
            folder = Path(name)
            about = _unpack(source, folder)
            put_database_back(engine, folder, about)
            with factory() as session:
                _put_objects_back(session, folder / CONTENTS)
            _put_uploads_back(open_uploads(settings), folder / "uploads")
        client = make_client(settings)
        try:
            Reaper(settings, factory, client).take_back_all()
        finally:
            client.destroy()
    return about


def _unpack(source: Path, folder: Path) -> Copy:
    try:
        with zstandard.open(source, "rb") as stream, tarfile.open(fileobj=stream, mode="r|") as all:
            all.extractall(folder, filter="data")
        return msgspec.json.decode((folder / ABOUT).read_bytes(), type=Copy)
    except (
        zstandard.ZstdError,
        tarfile.TarError,
        FileNotFoundError,
        msgspec.MsgspecError,
    ) as error:
        raise UnusableError(f"{source} is no whole backup: {error}.") from error


def _copy_objects(session: Session, folder: Path) -> None:
    """Copies the contents of an object store. Contents of a run that is deleted meanwhile are
    empty, and the doctor names that run after a restore."""
    objects = objects_of(session)
    folder.mkdir()
    if objects is None:
        return
    for digest, size in session.execute(select(Blob.digest, Blob.stored_size)):
        with (folder / digest).open("wb") as file:
            for start in range(0, size, PIECE):
                file.write(objects.get(digest, start, min(start + PIECE, size)) or b"")


def _put_objects_back(session: Session, folder: Path) -> None:
    objects = objects_of(session)
    files = sorted(folder.iterdir())
    if objects is not None:
        objects.put([(file.name, file.stat().st_size, file) for file in files])
    elif files:
        raise UnusableError(
            f"The backup has {len(files):,} contents of an object store: name one in "
            f"{PREFIX}CONTENTS_URL and restore it again."
        )


def _copy_uploads(uploads: Uploads, folder: Path) -> None:
    for upload in uploads.ids():
        to = folder / upload / "files"
        to.mkdir(parents=True)
        with suppress(FileNotFoundError):  # read meanwhile
            source = uploads.fetch(upload, to)
            for file in source.iterdir() if source != to else ():
                shutil.copyfile(file, to / file.name)


def _put_uploads_back(uploads: Uploads, folder: Path) -> None:
    for files in folder.glob("*/files"):
        upload = files.parent.name
        uploads.remove(upload)
        uploads.create(upload)
        for file in files.iterdir():
            size = file.stat().st_size
            with uploads.open(upload, int(file.name), 0, size) as to, file.open("rb") as source:
                shutil.copyfileobj(source, to, PIECE)
                to.flush()
