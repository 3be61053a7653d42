"""Unpacks an upload (an archive of a usual kind, a file or a folder, or several that were sent
together) into a folder of files."""

import errno
import io
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from inductorscope.formats.unpacking import DamagedError, Readable, open_plain
from inductorscope.intake import magic
from inductorscope.intake.exported import packed_files
from inductorscope.intake.limits import Limits, Meter, Refused, Spent
from inductorscope.intake.names import PACK_AGAIN, member_path, quoted_name
from inductorscope.intake.tars import unpack_tar
from inductorscope.intake.writing import Target
from inductorscope.intake.zips import DAMAGED, broken, unpack_zip

__all__ = ["Limits", "Refused", "only_archive", "unpack"]
SUPPORTED = "send a folder, a file, or a zip, tar, tar.gz, tar.xz or tar.zst of them"


def unpack(
    source: Path,
    into: Path,
    limits: Limits,
    progress: Callable[[int], None] | None = None,
    spent: Spent | None = None,
) -> None:
    """Puts the files of an upload below `into`, which is absent or empty.

    A folder keeps its name below `into`; a folder that contains a single archive counts as that
    archive. `progress` receives the unpacked bytes so far. Parts that share their limits share a
    `spent`. Raises `Refused`; after any exception, `into` is empty.
    """
    with _emptied_on_failure(into):
        single = only_archive(source) if source.is_dir() else source
        if single is None:
            meter = Meter(limits, quoted_name(source.name), 0, progress, spent)
            _lay_out_folder(source, into, meter)
        else:
            size = single.stat().st_size
            meter = Meter(limits, quoted_name(single.name), size, progress, spent)
            _unpack_file(single, into, meter)


@contextmanager
def _emptied_on_failure(into: Path) -> Iterator[None]:
    existed = into.exists()
    if existed and any(into.iterdir()):
        raise FileExistsError(f"{into} is not empty")
    into.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        shutil.rmtree(into)
        if existed:
            into.mkdir()
        raise


def only_archive(folder: Path) -> Path | None:
    """Returns the only file in a folder if it is an archive, else None."""
    with os.scandir(folder) as entries:
        first_two = [entry for _, entry in zip(range(2), entries, strict=False)]
    if len(first_two) != 1 or first_two[0].is_symlink():
        return None
    only = Path(first_two[0].path)
    if only.is_dir():
        return only_archive(only)
    return only if _is_archive(only) else None


def _is_archive(file: Path) -> bool:
    """Whether to unpack the file; a single compressed log or trace is not an archive."""
    with file.open("rb") as stream:
        head = stream.read(magic.HEAD)
    kinds, endings = magic.ARCHIVES, magic.ARCHIVE_ENDINGS
    return magic.kind_of(head) in kinds or file.name.lower().endswith(endings)


def _unpack_file(source: Path, into: Path, meter: Meter) -> None:
    where = meter.where
    status = source.stat()
    if not stat.S_ISREG(status.st_mode):
        raise Refused(f"{where} is not a plain file", SUPPORTED)
    meter.upload()
    if status.st_size == 0:
        raise Refused(f"{where} is empty", SUPPORTED)
    target = Target(into, meter)
    with source.open("rb") as file:
        head = file.read(magic.HEAD)
        file.seek(0)
        try:
            _unpack_kind(file, head, source, target, meter)
        except DAMAGED as error:
            raise broken(where, str(error)) from None
        except OSError as error:
            # A damaged stream has no errno; EINVAL means an offset before the start of the file.
            if error.errno in (None, errno.EINVAL):
                raise broken(where, str(error)) from None
            raise
    if not target.files:
        raise Refused(f"{where} holds no files", SUPPORTED)


def _unpack_kind(file: BinaryIO, head: bytes, source: Path, target: Target, meter: Meter) -> None:
    kind, name = magic.kind_of(head), source.name
    if kind == "zip":
        unpack_zip(file, target, meter)
    elif kind == "tar":
        unpack_tar(file, target, meter)
    elif kind == "export":
        with packed_files(file, meter.where) as packed:
            _unpack_packed(open_plain(packed), name, target, meter)
    elif kind in magic.PACKINGS:
        _unpack_packed(open_plain(file), name, target, meter)
    elif kind in magic.FOREIGN:
        raise Refused(f"{meter.where} is a {kind} archive, which is not supported", SUPPORTED)
    elif name.lower().endswith(magic.ARCHIVE_ENDINGS):
        if not head.strip(b"\0"):  # an empty tar is all zeros
            raise Refused(f"{meter.where} holds no files", SUPPORTED)
        raise Refused(f"{meter.where} is not an archive, despite its name", SUPPORTED)
    else:
        meter.member()
        parts = member_path(name, meter.where)
        size = source.stat().st_size
        if not source.is_symlink() and target.link(parts, name, source):
            meter.add(size)
        else:
            target.file(parts, name, file, counted=False)


class _Peeked:
    """A stream whose beginning has already been read."""

    def __init__(self, head: bytes, rest: Readable) -> None:
        self.head = io.BytesIO(head)
        self.rest = rest

    def read(self, count: int, /) -> bytes:
        return self.head.read(count) or self.rest.read(count)


def _unpack_packed(stream: Readable, name: str, target: Target, meter: Meter) -> None:
    """Unpacks a compressed tar or a single compressed file, named without the extension."""
    head = b""
    while len(head) < magic.HEAD and (piece := stream.read(magic.HEAD - len(head))):
        head += piece
    whole = _Peeked(head, stream)
    if magic.is_tar(head):
        unpack_tar(whole, target, meter)
        return
    if not head.strip(b"\0"):  # an empty tar is all zeros
        raise Refused(f"{meter.where} holds no files", SUPPORTED)
    stem = name
    for ending in (".gz", ".xz", ".zst", ".bz2"):
        if name.lower().endswith(ending) and len(name) > len(ending):
            stem = name[: -len(ending)]
    meter.member()
    target.file(member_path(stem, meter.where), stem, whole, counted=False)


def _lay_out_folder(source: Path, into: Path, meter: Meter) -> None:
    where = meter.where
    target = Target(into, meter)
    root = source.resolve().parent
    for folder, names, files in os.walk(source.resolve(), onerror=_raise):
        names.sort()
        for name in names:
            meter.member()
            if Path(folder, name).is_symlink():
                raise Refused(f"{where} has a symbolic link, {quoted_name(name)}", PACK_AGAIN)
            parts = Path(folder, name).relative_to(root).parts
            target.folder(parts, name)
        for name in sorted(files):
            meter.member()
            _lay_out_file(Path(folder, name), root, target, meter)
    if not target.files:
        raise Refused(f"{where} holds no files", SUPPORTED)


def _lay_out_file(path: Path, root: Path, target: Target, meter: Meter) -> None:
    mode = path.lstat().st_mode
    if not stat.S_ISREG(mode):
        kind = "symbolic link" if stat.S_ISLNK(mode) else "device or pipe"
        raise Refused(f"{meter.where} has a {kind}, {quoted_name(path.name)}", PACK_AGAIN)
    meter.packed += path.stat().st_size
    meter.upload()
    # Copied, never linked: writing to a link would change the original file.
    with path.open("rb") as file:
        target.file(path.relative_to(root).parts, path.name, file, counted=False)


def _raise(error: OSError) -> None:
    raise error


def lay_out(
    paths: Iterable[Path],
    into: Path,
    limits: Limits,
    progress: Callable[[Path], None] = lambda path: None,
) -> None:
    """Copies files and unpacks archives into the folder `into`, in an order independent of `paths`.

    Compressed logs and traces are copied as they are; they are unpacked only when sent alone. The
    limits apply to all paths together. Raises `Refused`, as `unpack` does.
    """
    into.mkdir(parents=True, exist_ok=True)
    spent = Spent()
    for number, path in enumerate(sorted(paths, key=lambda path: path.name)):
        progress(path)
        if path.is_dir() or _holds_files(path):
            _unpacked(path, into, limits, spent, number)
        else:
            size = path.stat().st_size
            meter = Meter(limits, quoted_name(path.name), size, spent=spent)
            meter.member()
            meter.add(size)
            shutil.copyfile(path, _free(into, path.name, number))


def any_archive(paths: Iterable[Path]) -> bool:
    """Whether laying out the paths would unpack an archive."""
    return any(
        only_archive(path) is not None if path.is_dir() else _holds_files(path) for path in paths
    )


def _holds_files(path: Path) -> bool:
    """Whether the path is an archive, rather than a single compressed file."""
    with path.open("rb") as stream:
        kind = magic.kind_of(stream.read(magic.HEAD))
        if kind not in magic.PACKINGS:
            return kind in magic.ARCHIVES
        stream.seek(0)
        try:
            return magic.is_tar(open_plain(stream).read(magic.HEAD))
        except DamagedError:
            return False  # kept as it is; its reader reports the damage


def _unpacked(path: Path, into: Path, limits: Limits, spent: Spent, number: int) -> None:
    with tempfile.TemporaryDirectory(dir=into.parent, prefix="part-") as part:
        place = Path(part) / "files"
        unpack(path, place, limits, spent=spent)
        for entry in place.iterdir():
            entry.rename(_free(into, entry.name, number))


def _free(into: Path, name: str, number: int) -> Path:
    """Returns a free path: if two archives hold the same name, the later one gets a number."""
    while (into / name).exists():
        name = f"{number}-{name}"
    return into / name
