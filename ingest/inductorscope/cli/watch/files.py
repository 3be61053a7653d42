"""Finds the logs of the newest run while they are still being written, and copies the complete
records of a log."""

from __future__ import annotations

import os
import re
import shutil
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from inductorscope.formats.sizes import KIB, MIB

BLOCK = MIB
MOST_FILES = 10_000
LOOK_AT = 64 * KIB

# V1121 01:24:58.555000 8487 torch/_dynamo/utils.py:2350] {…
_BEGIN = re.compile(rb"[VDIWEC](\d\d)(\d\d) (\d\d):(\d\d):(\d\d)(?:[.,]\d{1,9})? +\d+ \S+\] \{")
_LOG = re.compile(r"\.log$|_log\.txt$")


class Log(msgspec.Struct, frozen=True):
    """A log, with the times of its first and last write."""

    path: Path
    began: float
    changed: float
    size: int


def logs_in(folder: Path) -> list[Log]:
    """Returns the TORCH_TRACE logs below a folder, oldest first, recognised by content."""
    logs = []
    for number, path in enumerate(sorted(folder.rglob("*"))):
        if number >= MOST_FILES:
            break
        if not _LOG.search(path.name) or path.is_symlink():
            continue
        try:
            facts = path.stat()
            with path.open("rb") as stream:
                begin = _BEGIN.search(stream.read(LOOK_AT))
        except OSError:
            continue  # deleted meanwhile, or not readable
        if begin is not None:
            began = _time(begin, facts.st_mtime)
            logs.append(Log(path, began, facts.st_mtime, facts.st_size))
    return sorted(logs, key=lambda log: (log.began, log.path))


def newest(logs: list[Log]) -> list[Log]:
    """Returns the logs of the newest run: of processes that overlap in time with the last one."""
    if not logs:
        return []
    run = [logs[-1]]
    earliest = logs[-1].began
    for log in reversed(logs[:-1]):
        if log.changed >= earliest:
            run.append(log)
            earliest = min(earliest, log.began)
    return run[::-1]


def copy_log(log: Path, target: Path, *, whole: bool) -> int:
    """Copies a log; returns the bytes copied, 0 if it is gone. `whole`: with its last record, which
    may be half written until the log has not changed for a while."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        end = log.stat().st_size if whole else _last_record(log)
        shutil.copyfile(log, target)
    except FileNotFoundError:
        return 0
    end = min(end, target.stat().st_size)
    os.truncate(target, end)  # the log may have grown meanwhile
    return end


def _last_record(log: Path) -> int:
    """Returns the offset of the last line that starts a record."""
    with log.open("rb") as stream:
        stream.seek(0, os.SEEK_END)
        start = end = stream.tell()
        after = b""
        while start > 0:
            start = max(0, start - BLOCK)
            stream.seek(start)
            block = stream.read(min(BLOCK, end - start)) + after[:64]
            end = start
            at = len(block)
            while (at := block.rfind(b"\n", 0, at)) >= 0:
                following = block[at + 1 : at + 2]
                if following and following not in b"\t\r\n":
                    return start + at + 1
            after = block
    return 0


def _time(begin: re.Match[bytes], changed: float) -> float:
    """Returns the time of a record. Logs give no year: the latest before the last change fits."""
    month, day, hour, minute, second = map(int, begin.groups())
    last = datetime.fromtimestamp(changed)  # logs use local time
    try:
        time = datetime(last.year, month, day, hour, minute, second)
        if time > last + timedelta(days=1):
            time = time.replace(year=last.year - 1)
    except ValueError:
        return changed
    return min(time.timestamp(), changed)
