"""What a folder of files is: graphs with their texts, logs, traces, tables, and the rest."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from inductorscope.intake.graphs import GraphFolder, find_graphs
from inductorscope.intake.names import stored_text
from inductorscope.intake.sniff import HEAD, NESTED, role_of
from inductorscope.intake.sources import mark_sources
from inductorscope.settings import MIB

__all__ = ["Dropped", "File", "GraphFolder", "Intake", "recognise"]

PIECE = MIB

JUNK_NAMES = {".ds_store", "thumbs.db", "desktop.ini"}
JUNK_FOLDERS = {"__macosx", "__pycache__", ".git"}


@dataclass(slots=True)
class File:
    """One file of an upload, and what it was taken for."""

    path: str
    """Relative, without the folders that all files share."""
    role: str
    size: int
    absolute: Path
    digest: str
    """SHA-256 of its bytes as they are."""
    graph: str | None = None
    """Slug of the graph it belongs to."""
    source_path: str | None = None
    """Of a source that a capture copied: its path on the machine where it ran."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """What was not taken, and why. `file` is the first of `count`."""

    file: str
    reason: str
    count: int = 1


@dataclass(slots=True)
class Intake:
    """An upload, recognised."""

    graphs: list[GraphFolder] = field(default_factory=list)
    files: list[File] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    content_digest: str = ""

    @property
    def known(self) -> bool:
        """Whether there is anything in it that a run can be made of."""
        return any(file.role not in {"other", "source"} for file in self.files)


def recognise(root: Path, noticed: Callable[[str], None] = lambda role: None) -> Intake:
    """Looks through a folder (or at one file) and tells what is in it. Follows no links.

    `noticed` is told a file's role when its beginning was seen: all of a large one takes a while.
    """
    dropped: dict[str, list[str]] = {}
    paths = _walk(root, dropped) if root.is_dir() else [root]
    base = root if root.is_dir() else root.parent
    common = _common_parts([path.relative_to(base).parts for path in paths])
    intake = Intake()
    for path in paths:
        shown = PurePosixPath(*path.relative_to(base).parts[common:])
        intake.files.append(_look_at(path, stored_text(str(shown)), noticed))
    intake.files.sort(key=lambda file: file.path)
    intake.content_digest = _content_digest(intake.files)
    for file in intake.files:
        if file.role == NESTED:
            reason = "an archive inside the upload is not unpacked; upload it by itself"
            dropped.setdefault(reason, []).append(file.path)
    intake.files = [file for file in intake.files if file.role != NESTED]
    mark_sources(intake.files)
    intake.graphs = find_graphs(intake.files, base)
    intake.dropped = [
        Dropped(names[0], reason, len(names)) for reason, names in sorted(dropped.items())
    ]
    return intake


def _walk(root: Path, dropped: dict[str, list[str]]) -> list[Path]:
    """All files worth a look, sorted; what is skipped goes to `dropped`."""
    found: list[Path] = []
    for folder, names, files in os.walk(root):
        here = Path(folder)
        for name in list(names):
            if (here / name).is_symlink():
                _drop(dropped, "a link; links are not followed", here / name, root)
                names.remove(name)
            elif name.lower() in JUNK_FOLDERS:
                _drop(dropped, "left behind by another program", here / name, root)
                names.remove(name)
        if not names and not files and here != root:
            _drop(dropped, "an empty folder", here, root)
        for name in files:
            path = here / name
            if name.lower() in JUNK_NAMES or name.startswith("._"):
                _drop(dropped, "left behind by another program", path, root)
            elif path.is_symlink():
                _drop(dropped, "a link; links are not followed", path, root)
            elif not path.is_file():
                _drop(dropped, "no plain file", path, root)
            else:
                found.append(path)
    return sorted(found)


def _drop(dropped: dict[str, list[str]], reason: str, path: Path, root: Path) -> None:
    dropped.setdefault(reason, []).append(stored_text(str(path.relative_to(root))))


def _common_parts(paths: list[tuple[str, ...]]) -> int:
    """How many leading folders all files share."""
    if not paths:
        return 0
    shortest = min(len(parts) - 1 for parts in paths)
    for depth in range(shortest):
        if any(parts[depth] != paths[0][depth] for parts in paths):
            return depth
    return shortest


def _look_at(path: Path, shown: str, noticed: Callable[[str], None]) -> File:
    """One pass over a file: its digest, size and role."""
    digest = hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        piece = memoryview(bytearray(min(PIECE, max(os.fstat(file.fileno()).st_size, HEAD))))
        count = size = file.readinto(piece) or 0
        role = role_of(path.name, bytes(piece[: min(count, HEAD)]))
        noticed(role)
        while count:
            digest.update(piece[:count])
            count = file.readinto(piece) or 0
            size += count
    return File(
        path=shown,
        role=role,
        size=size,
        absolute=path,
        digest=digest.hexdigest(),
    )


def _content_digest(files: list[File]) -> str:
    """The same for a folder and every archive of it."""
    whole = hashlib.sha256()
    for line in sorted(f"{file.path}\0{file.digest}\n" for file in files):
        whole.update(line.encode())
    return whole.hexdigest()
