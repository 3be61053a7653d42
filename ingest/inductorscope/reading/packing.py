"""Packs a program's files into one archive to send: only files that can be read, without
secrets."""

import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from shutil import copyfileobj

import msgspec

from inductorscope.formats.vocabulary import OTHER, REFUSED
from inductorscope.intake.files import File
from inductorscope.intake.recognise import recognise
from inductorscope.reading.scrubbing import clean_pieces

PACKED = {".gz", ".xz", ".zst", ".bz2"}


class Packed(msgspec.Struct):
    """The contents of an archive."""

    files: int = 0
    secrets: int = 0
    left_out: list[str] = msgspec.field(default_factory=list)


def pack_files(paths: Iterable[Path], output: Path) -> Packed:
    """Writes the archive. Compressed texts are unpacked, because together they become smaller."""
    packed = Packed()
    with tarfile.open(output, "w:gz") as archive:
        for number, path in enumerate(paths):
            root = path.resolve()
            for file in recognise(root).files:
                name = file.absolute.relative_to(root.parent).as_posix()
                if file.role == OTHER or file.role in REFUSED:
                    packed.left_out.append(name)
                else:
                    _add(archive, f"{number}/{name}", file, packed)
    return packed


def _add(archive: tarfile.TarFile, name: str, file: File, packed: Packed) -> None:
    found: Counter[str] = Counter()
    with tempfile.TemporaryFile() as copy:
        copy.writelines(clean_pieces(file.absolute, found))
        if copy.tell():
            plain = file.absolute.with_suffix("")
            if file.absolute.suffix in PACKED and not plain.exists():
                name = name.removesuffix(file.absolute.suffix)
        else:
            with file.absolute.open("rb") as binary:
                copyfileobj(binary, copy)
        member = tarfile.TarInfo(name)  # without the names of users and groups
        member.size = copy.tell()
        copy.seek(0)
        archive.addfile(member, copy)
    packed.files += 1
    packed.secrets += found.total()
