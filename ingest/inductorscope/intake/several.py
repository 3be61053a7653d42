"""Lays out several folders, files and archives that were sent together."""

import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from inductorscope.formats.unpacking import DamagedError, open_plain
from inductorscope.intake import magic
from inductorscope.intake.limits import Limits, Meter, Spent
from inductorscope.intake.names import quoted_name
from inductorscope.intake.unpack import only_archive, unpack


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
