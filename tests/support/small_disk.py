"""A disk of a few MiB, which a test can fill."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

FILLER = "filler"


@contextlib.contextmanager
def small_disk(folder: Path, mebibytes: int) -> Iterator[Path]:
    """Mounts a tmpfs; skips the test where mounting is not allowed."""
    folder.mkdir(parents=True, exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m", "tmpfs", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("needs `mount`")
    if done.returncode:
        pytest.skip(f"needs the right to mount a tmpfs: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(folder: Path, leave: int = 0) -> None:
    """Takes the room of a disk but for some bytes, as another program does."""
    with (folder / FILLER).open("ab", buffering=0) as file:
        piece = bytes(64 * 1024)
        with contextlib.suppress(OSError):
            while free(folder) > leave:
                file.write(piece[: max(1, free(folder) - leave)])


def unfill(folder: Path) -> None:
    (folder / FILLER).unlink()


def free(folder: Path) -> int:
    sizes = os.statvfs(folder)
    return sizes.f_bavail * sizes.f_frsize
