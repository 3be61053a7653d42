"""Several things sent together: folders and files side by side, archives among them unpacked."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from inductorscope.formats.unpacking import DamagedError, open_plain
from inductorscope.intake import magic
from inductorscope.intake.limits import Limits, Meter, Spent
from inductorscope.intake.names import shown
from inductorscope.intake.unpack import only_archive, unpack


def lay_out(
    paths: Iterable[Path],
    into: Path,
    limits: Limits,
    progress: Callable[[Path], None] = lambda path: None,
) -> None:
    """Puts all of it below the folder `into`, in an order that does not depend on how it came.

    Compressed logs and traces stay as they are: among others they are files; only a lone one is
    unpacked. What is no archive is copied. The limits hold for all of it together. Raises
    `Refused` as `unpack` does.
    """
    into.mkdir(parents=True, exist_ok=True)
    spent = Spent()
    for number, path in enumerate(sorted(paths, key=lambda path: path.name)):
        progress(path)
        if path.is_dir() or _holds_files(path):
            _unpacked(path, into, limits, spent, number)
        else:
            size = path.stat().st_size
            meter = Meter(limits, shown(path.name), size, spent=spent)
            meter.member()
            meter.add(size)
            shutil.copyfile(path, _free(into, path.name, number))


def any_archive(paths: Iterable[Path]) -> bool:
    """Whether laying them out would unpack something."""
    return any(
        only_archive(path) is not None if path.is_dir() else _holds_files(path) for path in paths
    )


def _holds_files(path: Path) -> bool:
    """Whether it is an archive, and not merely one compressed file."""
    with path.open("rb") as stream:
        kind = magic.kind_of(stream.read(magic.HEAD))
        if kind not in magic.PACKINGS:
            return kind in magic.ARCHIVES
        stream.seek(0)
        try:
            return magic.is_tar(open_plain(stream).read(magic.HEAD))
        except DamagedError:
            return False  # kept as it is, for the readers to say what is wrong with it


def _unpacked(path: Path, into: Path, limits: Limits, spent: Spent, number: int) -> None:
    with tempfile.TemporaryDirectory(dir=into.parent, prefix="part-") as part:
        place = Path(part) / "files"
        unpack(path, place, limits, spent=spent)
        for found in place.iterdir():
            found.rename(_free(into, found.name, number))


def _free(into: Path, name: str, number: int) -> Path:
    """Two archives can hold the same names; a number keeps the later one apart."""
    while (into / name).exists():
        name = f"{number}-{name}"
    return into / name
