"""Several things sent together: folders and files side by side, archives among them unpacked."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from inductorscope.intake import magic
from inductorscope.intake.limits import Limits
from inductorscope.intake.packed import BROKEN, open_packed
from inductorscope.intake.unpack import unpack


def lay_out(
    paths: Iterable[Path],
    into: Path,
    limits: Limits,
    progress: Callable[[Path], None] = lambda path: None,
) -> None:
    """Puts all of it below the folder `into`. Compressed logs and traces stay as they are: among
    others they are files; only a lone one is unpacked. Raises `Refused` as `unpack` does."""
    into.mkdir(parents=True, exist_ok=True)
    for number, path in enumerate(paths):
        progress(path)
        if path.is_dir() or _holds_files(path):
            _unpacked(path, into, limits, number)
        else:
            shutil.copyfile(path, _free(into, path.name, number))


def _holds_files(path: Path) -> bool:
    """Whether it is an archive, and not merely one compressed file."""
    with path.open("rb") as stream:
        kind = magic.kind_of(stream.read(magic.HEAD))
        if kind not in magic.PACKINGS:
            return kind in magic.ARCHIVES
        stream.seek(0)
        try:
            return magic.is_tar(open_packed(stream, str(kind)).read(magic.HEAD))
        except (*BROKEN, OSError):
            return False  # kept as it is, for the readers to say what is wrong with it


def _unpacked(path: Path, into: Path, limits: Limits, number: int) -> None:
    with tempfile.TemporaryDirectory(dir=into.parent, prefix="part-") as part:
        place = Path(part) / "files"
        unpack(path, place, limits)
        for found in place.iterdir():
            found.rename(_free(into, found.name, number))


def _free(into: Path, name: str, number: int) -> Path:
    """Two archives can hold the same names; a number keeps the later one apart."""
    target = into / name
    return into / f"{number}-{name}" if target.exists() else target
