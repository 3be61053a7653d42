"""Kernels that tries compiled, kept for later tries of the same person.

A try's code can replace the kernels that Inductor wrote, and later tries run what is kept. So a try
gets only what tries of the same person left.
"""

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from inductorscope.capturing.playground import order
from inductorscope.formats.sizes import MIB

MOST_PEOPLE = 16
MOST_KERNELS = 200
"""Most folders of kernels of a person."""
MOST_BYTES = 64 * MIB
"""Most bytes of a person's kernels, which each of their tries holds in memory."""


class Kernels:
    """The kept kernels of all people, each in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def of(self, person: str) -> Path:
        """Returns a person's folder. Forgets the kernels of whoever has made no try for longest."""
        own = self._folder / person
        own.mkdir(parents=True, exist_ok=True)
        os.utime(own)
        for folder in _newest(self._folder.iterdir())[MOST_PEOPLE:]:
            shutil.rmtree(folder)
        return own

    def keep(self, person: str, files: Path) -> None:
        """Keeps the kernels of a try, whose files are given, for later ones of this person."""
        compiled, own = files / order.CACHE, self.of(person)
        for file in [file for file in compiled.rglob("*") if file.is_file()]:
            kept = own / file.relative_to(compiled)
            if order.is_kernel(file.relative_to(files)) and not kept.exists():
                kept.parent.mkdir(parents=True, exist_ok=True)
                file.replace(kept)
        size = 0
        for number, folder in enumerate(_newest([*own.glob("??"), *own.glob("triton/*/*")])):
            size += sum(file.stat().st_size for file in folder.iterdir())
            if number >= MOST_KERNELS or size > MOST_BYTES:
                shutil.rmtree(folder)


def _newest(folders: Iterable[Path]) -> list[Path]:
    return sorted(folders, key=lambda folder: folder.stat().st_mtime, reverse=True)
