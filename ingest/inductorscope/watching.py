"""Logs that are still being written: which belong to the newest run of a folder, and copies of them
as far as they are whole."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

BLOCK = 1024 * 1024
MOST_FILES = 10_000
LOOK_AT = 64 * 1024

# V1121 01:24:58.555000 8487 torch/_dynamo/utils.py:2350] {…
_BEGIN = re.compile(rb"[VDIWEC](\d\d)(\d\d) (\d\d):(\d\d):(\d\d)(?:[.,]\d{1,9})? +\d+ \S+\] \{")
_LOG = re.compile(r"\.log$|_log\.txt$")


class NothingToWatch(ValueError):
    """What was named holds no log and cannot; the message is for a person."""


@dataclass(frozen=True, slots=True)
class Found:
    """A log, and from when to when it was written."""

    path: Path
    began: float
    changed: float
    size: int


def logs_in(folder: Path) -> list[Found]:
    """TORCH_TRACE logs below a folder, the oldest first; told by what they begin with."""
    found = []
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
            continue  # gone, or not ours to read
        if begin is not None:
            began = _time(begin, facts.st_mtime)
            found.append(Found(path, began, facts.st_mtime, facts.st_size))
    return sorted(found, key=lambda log: (log.began, log.path))


def newest(logs: list[Found]) -> list[Found]:
    """Those of the newest run: of processes that lived at the same time as the last one."""
    if not logs:
        return []
    run = [logs[-1]]
    earliest = logs[-1].began
    for log in reversed(logs[:-1]):
        if log.changed >= earliest:
            run.append(log)
            earliest = min(earliest, log.began)
    return run[::-1]


def folder_of_process(pid: int) -> Path:
    """Where a running process writes its logs, as its environment says."""
    try:
        given = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        working = Path(f"/proc/{pid}/cwd").readlink()
    except OSError as error:
        raise NothingToWatch(
            f"Process {pid} cannot be looked at: {error.strerror}. Name the folder that it writes "
            "to instead."
        ) from error
    variables = dict(item.split(b"=", 1) for item in given if b"=" in item)
    trace = variables.get(b"TORCH_TRACE")
    if trace:
        return working / os.fsdecode(trace)
    if variables.get(b"TORCH_COMPILE_DEBUG") == b"1":
        return working / "torch_compile_debug"
    raise NothingToWatch(
        f"Process {pid} writes no logs: neither TORCH_TRACE nor TORCH_COMPILE_DEBUG is set in its "
        "environment. Start it with TORCH_TRACE=folder."
    )


def copy_whole(log: Path, target: Path) -> int:
    """Copies a log up to where its last record begins, which may be half written; how many bytes.

    A log that did not change for a while is copied whole by the caller.
    """
    end = _last_record(log)
    target.parent.mkdir(parents=True, exist_ok=True)
    left = end
    with log.open("rb") as source, target.open("wb") as out:
        while left > 0:
            block = source.read(min(BLOCK, left))
            if not block:
                break
            out.write(block)
            left -= len(block)
    return end - left


def _last_record(log: Path) -> int:
    """Where the last line begins that starts a record."""
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
    """Logs tell no year: the one that comes before the file's last change."""
    month, day, hour, minute, second = map(int, begin.groups())
    last = datetime.fromtimestamp(changed)  # logs tell local time
    try:
        time = datetime(last.year, month, day, hour, minute, second)
        if time > last + timedelta(days=1):
            time = time.replace(year=last.year - 1)
    except ValueError:
        return changed
    return min(time.timestamp(), changed)
