"""Makes one capture of all ranks that a distributed program runs on this machine."""

import hashlib
import os
import tempfile
import time
from collections import Counter
from pathlib import Path

from inductorscope.capturing.script.order import statuses

OTHERS_S = 60.0
"""How long the first rank waits for the other ranks to finish recording."""
LOOK_S = 0.05
_SAME = (
    "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "WORLD_SIZE",
)  # fmt: skip
"""Variables that are the same in all ranks."""
_captures: Counter[str] = Counter()
"""Number of captures of each name that this process has started."""


def is_first() -> bool:
    """Returns whether this process reads what all ranks of the machine record."""
    return os.environ.get("LOCAL_RANK", os.environ.get("RANK", "0")) == "0"


def world_size() -> int:
    return int(os.environ.get("WORLD_SIZE") or 1)


def new_folder(name: str) -> Path:
    """Returns a private folder for a capture; the ranks of one parent process share it."""
    if world_size() == 1:
        return Path(tempfile.mkdtemp(prefix="inductorscope-"))
    _captures[name] += 1
    words = [name, _captures[name], os.getppid(), *map(os.environ.get, _SAME)]
    key = hashlib.sha256(repr(words).encode()).hexdigest()[:16]
    folder = Path(tempfile.gettempdir()) / f"inductorscope-{key}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.lstat().st_uid != os.getuid():
        raise PermissionError(f"{folder} belongs to somebody else.")
    return folder


def wait_for_others(out: Path) -> list[str]:
    """Waits until all ranks that record to `out` have finished; returns what is missing then."""
    deadline = time.monotonic() + OTHERS_S
    while not all(status.ended for status in statuses(out)) and time.monotonic() < deadline:
        time.sleep(LOOK_S)
    ended, expected = sum(status.ended for status in statuses(out)), world_size()
    if ended >= expected:
        return []
    return [f"Ranks: {ended} of {expected} recorded this on one machine and ended in time."]
