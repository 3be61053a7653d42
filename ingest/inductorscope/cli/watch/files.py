"""Finds the logs and debug folders of the newest run while they are still being written, and copies
the complete records of a log."""

from __future__ import annotations

import os
import re
import stat
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
# run_2026_11_21_01_25_55_680737-pid_420
_DEBUG = re.compile(r"^run_(\d{4}_\d\d_\d\d_\d\d_\d\d_\d\d_\d{6})-pid_\d+$")


class Output(msgspec.Struct, frozen=True):
    """A log, or the debug folder of one process, with the times of its first and last write."""

    path: Path
    began: float
    changed: float
    size: int
    files: tuple[Output, ...] = ()
    """Files of a debug folder. Each is written in one go, so none ends in half a record."""


def logs_in(folder: Path) -> list[Output]:
    """Returns the TORCH_TRACE logs below a folder, oldest first, recognised by content."""
    outputs = []
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
            outputs.append(Output(path, began, facts.st_mtime, facts.st_size))
    return sorted(outputs, key=lambda log: (log.began, log.path))


def debug_folders_in(folder: Path) -> list[Output]:
    """Returns the TORCH_COMPILE_DEBUG folders below a folder, one per process, oldest first."""
    outputs: list[Output] = []
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
                continue  # deleted meanwhile
            if stat.S_ISREG(facts.st_mode):
                files.append(Output(path, facts.st_mtime, facts.st_mtime, facts.st_size))
        left -= len(files)
        if files:
            changed = max(file.changed for file in files)
            began = min(_time_of_name(name.group(1), changed), changed)
            size = sum(file.size for file in files)
            outputs.append(Output(place, began, changed, size, tuple(files)))
    return sorted(outputs, key=lambda output: (output.began, output.path))


def files_of(run: list[Output]) -> list[Output]:
    """Returns the logs, then the files of debug folders that are not among them."""
    logs = [output for output in run if not output.files]
    known = {log.path for log in logs}
    return logs + [file for output in run for file in output.files if file.path not in known]


def newest(logs: list[Output]) -> list[Output]:
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


def copy_whole(log: Path, target: Path) -> int:
    """Copies a log without its last record, which may be half written; returns the bytes copied.

    The caller copies a log whole once it has not changed for a while.
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


def _time_of_name(text: str, changed: float) -> float:
    try:
        return datetime.strptime(text, "%Y_%m_%d_%H_%M_%S_%f").timestamp()
    except ValueError:
        return changed


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
