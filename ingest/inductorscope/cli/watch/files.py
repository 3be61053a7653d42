"""Logs and debug folders that are still being written: which belong to the newest run of a folder,
and copies of logs as far as they are whole."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from inductorscope.formats.units import KIB, MIB

BLOCK = MIB
MOST_FILES = 10_000
LOOK_AT = 64 * KIB

# V1121 01:24:58.555000 8487 torch/_dynamo/utils.py:2350] {…
_BEGIN = re.compile(rb"[VDIWEC](\d\d)(\d\d) (\d\d):(\d\d):(\d\d)(?:[.,]\d{1,9})? +\d+ \S+\] \{")
_LOG = re.compile(r"\.log$|_log\.txt$")
# run_2026_11_21_01_25_55_680737-pid_420
_DEBUG = re.compile(r"^run_(\d{4}_\d\d_\d\d_\d\d_\d\d_\d\d_\d{6})-pid_\d+$")


class NothingToWatch(ValueError):
    """What was named holds no log and cannot; the message is for a person."""


@dataclass(frozen=True, slots=True)
class Found:
    """A log, or all that one process put into its debug folder, and from when to when."""

    path: Path
    began: float
    changed: float
    size: int
    files: tuple[Found, ...] = ()
    """Of a debug folder: each is written at once, so none has half a record at its end."""


def logs_in(folder: Path) -> list[Found]:
    """TORCH_TRACE logs below a folder, the oldest first; recognised by their first bytes."""
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


def debug_folders_in(folder: Path) -> list[Found]:
    """What TORCH_COMPILE_DEBUG writes below a folder, process by process, the oldest first."""
    found: list[Found] = []
    left = MOST_FILES
    for place in sorted(path for path in (folder, *folder.rglob("run_*")) if path.is_dir()):
        name = _DEBUG.match(place.name)
        if name is None or place.is_symlink():
            continue
        files = []
        for path in sorted(place.rglob("*"))[:left]:
            try:
                facts = path.stat(follow_symlinks=False)
            except OSError:
                continue  # gone
            if stat.S_ISREG(facts.st_mode):
                files.append(Found(path, facts.st_mtime, facts.st_mtime, facts.st_size))
        left -= len(files)
        if files:
            changed = max(file.changed for file in files)
            began = min(_time_of_name(name.group(1), changed), changed)
            size = sum(file.size for file in files)
            found.append(Found(place, began, changed, size, tuple(files)))
    return sorted(found, key=lambda one: (one.began, one.path))


def files_of(run: list[Found]) -> list[Found]:
    """Logs, and the files of debug folders but for logs that are in the run already."""
    logs = [one for one in run if not one.files]
    known = {log.path for log in logs}
    return logs + [file for one in run for file in one.files if file.path not in known]


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


def _time_of_name(text: str, changed: float) -> float:
    try:
        return datetime.strptime(text, "%Y_%m_%d_%H_%M_%S_%f").timestamp()
    except ValueError:
        return changed


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
