"""Keeps the data folder and the database file from other users of the machine.

SQLite gives the files next to a database (`-wal`, `-shm`) the mode of the database.
"""

import contextlib
import os
import re
import stat
from pathlib import Path

FOLDER, FILE = 0o700, 0o600
_OWN = re.compile(r"inductorscope\.db(-wal|-shm|-journal|\.bulk\.lock)?|relink\.lock|reserve")
_OWN_FOLDERS = re.compile(r"uploads|captures|workers|facts|reading(-.*)?")


def make_private_folder(folder: Path) -> None:
    """Creates the folder for this user alone. An existing folder keeps its mode."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=FOLDER, exist_ok=True)


def make_private_file(path: Path) -> None:
    """Creates an empty file for this user alone. An existing file keeps its mode.

    It is not even opened: closing any descriptor of a file drops the locks that this process has on
    it, and SQLite relies on its own.
    """
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE))


def close_to_others(data: Path) -> None:
    """Takes the permissions of other users from a data folder that a person or an earlier version
    made.

    The folder itself keeps its mode if it holds anything else: it may be a project's folder.
    """
    with contextlib.suppress(OSError):  # belongs to another user, or disappeared meanwhile
        entries = sorted(data.iterdir())
        files = [path for path in entries if _OWN.fullmatch(path.name)]
        folders = [path for path in entries if _OWN_FOLDERS.fullmatch(path.name)]
        for path in files + folders:
            _close(path)
        if len(files) + len(folders) == len(entries):
            _close(data)


def open_to_others(data: Path) -> str:
    """Returns why other users may look into the data folder, as a sentence; empty if they may
    not."""
    now = data.stat() if data.is_dir() else None
    if now is None or not stat.S_IMODE(now.st_mode) & 0o077:
        return ""
    known = (_OWN, _OWN_FOLDERS)
    names = sorted(entry.name for entry in data.iterdir())
    other = [name for name in names if not any(own.fullmatch(name) for own in known)]
    why = f"it also holds {other[0]}" if other else "it belongs to another user"
    return (
        f"Other users can list the data folder {data} (mode {stat.S_IMODE(now.st_mode):04o}): "
        f"{why}, so its mode was kept. Name another folder, or run `chmod 700 {data}`."
    )


def _close(path: Path) -> None:
    now = path.lstat()
    ours = now.st_uid == os.geteuid() and not stat.S_ISLNK(now.st_mode)
    if ours and stat.S_IMODE(now.st_mode) & 0o077:
        path.chmod(stat.S_IMODE(now.st_mode) & FOLDER)
