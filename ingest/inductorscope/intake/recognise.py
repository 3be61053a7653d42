"""Recognises the files of a folder: graphs with their texts, logs, traces, tables and others."""

import hashlib
import os
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import takewhile
from pathlib import Path, PurePosixPath

import msgspec

from inductorscope.formats.capture_facts import SOURCES, SourceFiles
from inductorscope.formats.sizes import MIB
from inductorscope.formats.vocabulary import (
    NCU_REPORT,
    OF_KERNELS,
    OTHER,
    REFUSED,
    SOURCE,
    TRACE_LOG,
    TRITON_METADATA,
    TTIR,
)
from inductorscope.intake.depyf import mark_depyf
from inductorscope.intake.files import File
from inductorscope.intake.graphs import (
    GraphFolder,
    find_graphs,
    keep_lone_kernels,
    set_copies_apart,
)
from inductorscope.intake.names import stored_text
from inductorscope.intake.sniff import HEAD, NESTED, role_of, role_of_rest
from inductorscope.intake.tlparse import mark_tlparse

MAX_MAPPING = 16 * MIB


def mark_sources(files: list[File]) -> None:
    """Gives the files listed in a `sources.json` the role `source`, because a user's file may look
    like a kernel. Their path on the user's machine goes to `source_path`."""
    by_path = {file.path: file for file in files}
    for listing in [file for file in files if PurePosixPath(file.path).name == SOURCES]:
        folder = PurePosixPath(listing.path).parent
        for theirs, ours in _read(listing).items():
            file = by_path.get(str(folder / ours))
            if file is not None:
                file.role = "source"
                file.source_path = theirs


def _read(listing: File) -> dict[str, str]:
    if listing.size > MAX_MAPPING:
        return {}
    try:
        return msgspec.json.decode(listing.absolute.read_bytes(), type=SourceFiles).files
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}  # another program's file of the same name


PIECE = MIB
LARGE = 4 * MIB
"""Size in bytes from which a log is hashed in a thread while it is read."""
LARGE_PIECE = 4 * MIB
"""Bytes hashed at a time in the thread: large pieces wait less often for the interpreter lock."""

UNREAD = {OTHER, SOURCE, TRITON_METADATA, NCU_REPORT, *OF_KERNELS, *REFUSED} - {TTIR}
"""Roles of files from which no run can be made."""

JUNK_NAMES = {".ds_store", "thumbs.db", "desktop.ini"}
JUNK_FOLDERS = {"__macosx", "__pycache__", ".git"}


class Dropped(msgspec.Struct, frozen=True):
    """Files left out, and why. `file` is the first of `count`."""

    file: str
    reason: str
    count: int = 1


class Intake(msgspec.Struct):
    """A recognised upload."""

    graphs: list[GraphFolder] = msgspec.field(default_factory=list)
    files: list[File] = msgspec.field(default_factory=list)
    dropped: list[Dropped] = msgspec.field(default_factory=list)
    content_digest: str = ""
    hashing: Future[None] | None = None
    """Hashing in a thread; until it is done, large logs and the upload have no digest."""

    @property
    def settled(self) -> bool:
        return self.hashing is None or self.hashing.done()

    def settle(self) -> None:
        """Waits for all digests."""
        if self.hashing is not None:
            self.hashing.result()

    @property
    def known(self) -> bool:
        """Returns whether a run can be made of any of the files."""
        return any(file.role not in UNREAD for file in self.files)

    @property
    def refused(self) -> list[File]:
        """Returns files of known kinds from which no run can be made."""
        known = {NCU_REPORT, *OF_KERNELS, *REFUSED}
        return [file for file in self.files if file.role in known]


def _digest_of(path: Path) -> tuple[str, int]:
    """Returns digest and size of a file."""
    digest, size = hashlib.sha256(), 0
    piece = memoryview(bytearray(LARGE_PIECE))
    with path.open("rb", buffering=0) as file:
        while count := file.readinto(piece):
            digest.update(piece[:count])
            size += count
    return digest.hexdigest(), size


def recognise(root: Path, *, hash_later: bool = False) -> Intake:
    """Recognises the files of a folder, or a single file. Follows no links.

    `hash_later`: another thread hashes large logs; `Intake.settle` waits for it.
    """
    dropped: dict[str, list[str]] = {}
    paths = _walk(root, dropped) if root.is_dir() else [root]
    base = root if root.is_dir() else root.parent
    common = _common_parts([path.relative_to(base).parts for path in paths])
    intake = Intake()
    for path in paths:
        shown = PurePosixPath(*path.relative_to(base).parts[common:])
        intake.files.append(_look_at(path, stored_text(str(shown)), hash_later))
    intake.files.sort(key=lambda file: file.path)
    _hash_rest(intake)
    for file in intake.files:
        if file.role == NESTED:
            reason = "an archive inside the upload is not unpacked; upload it separately"
            dropped.setdefault(reason, []).append(file.path)
    intake.files = [file for file in intake.files if file.role != NESTED]
    mark_sources(intake.files)
    mark_tlparse(intake.files)
    keep_lone_kernels(intake.files)
    set_copies_apart(intake.files)
    intake.graphs = find_graphs(intake.files, base, mark_depyf(intake.files))
    intake.dropped = [
        Dropped(names[0], reason, len(names)) for reason, names in sorted(dropped.items())
    ]
    return intake


def _walk(root: Path, dropped: dict[str, list[str]]) -> list[Path]:
    """Returns all files worth reading, sorted; adds the others to `dropped`."""
    paths: list[Path] = []
    for folder, names, files in os.walk(root):
        current = Path(folder)
        for name in list(names):
            if (current / name).is_symlink():
                _drop(dropped, "a link; links are not followed", current / name, root)
                names.remove(name)
            elif name.lower() in JUNK_FOLDERS:
                _drop(dropped, "a file of another program", current / name, root)
                names.remove(name)
        if not names and not files and current != root:
            _drop(dropped, "an empty folder", current, root)
        for name in files:
            path = current / name
            if name.lower() in JUNK_NAMES or name.startswith("._"):
                _drop(dropped, "a file of another program", path, root)
            elif path.is_symlink():
                _drop(dropped, "a link; links are not followed", path, root)
            elif not path.is_file():
                _drop(dropped, "not a regular file", path, root)
            else:
                paths.append(path)
    return sorted(paths)


def _drop(dropped: dict[str, list[str]], reason: str, path: Path, root: Path) -> None:
    dropped.setdefault(reason, []).append(stored_text(str(path.relative_to(root))))


def _common_parts(paths: list[tuple[str, ...]]) -> int:
    """Returns the number of leading folders that all files share."""
    levels = zip(*(parts[:-1] for parts in paths), strict=False)
    return sum(1 for _ in takewhile(lambda names: len(set(names)) == 1, levels))


def _look_at(path: Path, shown: str, hash_later: bool) -> File:
    """Reads a file once: digest, size, role. `hash_later`: leaves out the digest of a large log."""
    digest = hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        status = os.fstat(file.fileno())
        piece = memoryview(bytearray(min(PIECE, max(status.st_size, HEAD))))
        count = size = file.readinto(piece) or 0
        role = role_of(path.name, bytes(piece[: min(count, HEAD)]))
        if hash_later and role == TRACE_LOG and status.st_size >= LARGE:
            return File(shown, role, status.st_size, path, digest="", modified=status.st_mtime_ns)
        while count:
            digest.update(piece[:count])
            count = file.readinto(piece) or 0
            size += count
            if role == OTHER and count:
                role = role_of_rest(bytes(piece[:count]))
    return File(
        path=shown,
        role=role,
        size=size,
        absolute=path,
        digest=digest.hexdigest(),
        modified=status.st_mtime_ns,
    )


def _hash_rest(intake: Intake) -> None:
    """Hashes the files without a digest, in a thread if there are any, and then the upload."""
    files = list(intake.files)
    large = [file for file in files if not file.digest]

    def settle() -> None:
        for file in large:
            file.digest, file.size = _digest_of(file.absolute)
        intake.content_digest = digest_of_files((file.path, file.digest) for file in files)

    if not large:
        settle()
        return
    hasher = ThreadPoolExecutor(1, "hasher")
    intake.hashing = hasher.submit(settle)
    hasher.shutdown(wait=False)


def digest_of_files(files: Iterable[tuple[str, str]]) -> str:
    """Returns a digest of paths and digests: the same for a folder and for every archive of it."""
    whole = hashlib.sha256()
    for line in sorted(f"{path}\0{digest}\n" for path, digest in files):
        whole.update(line.encode())
    return whole.hexdigest()
