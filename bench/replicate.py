"""Large logs, made of copies of real ones with fresh ids.

    python -m bench.replicate OUT BYTES LOG… [--own-codes]

A copy has its own process id, frame ids and ids of file names, as if the same model had been
compiled again. With own codes its payloads differ too, by AOT id and by the folder of the sources,
as if further models of the same kind had been compiled: then no reader gains from having seen a
payload before. MD5s of changed payloads are made anew.
"""

import argparse
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

HEAD = re.compile(rb"^([VDIWEC]\d{4} \S+ )(\d+)( [^\]\n]*\] )(\{.*)$", re.S)
FRAME_ID = re.compile(rb'("frame_id": ?)(\d+)')
FILE_ID = re.compile(rb'("filename": ?)(\d+)')
INTERNED = re.compile(rb'^(\{"str": ?\[".*", ?)(\d+)(\]\}\s*)$', re.S)
MD5 = re.compile(rb'("has_payload": ?")([0-9a-f]{32})(")')
AOT_ID = re.compile(rb"((?:#|//) AOT ID: \[')(\d+)(_)")
SOURCE_COMMENT = re.compile(rb"(# File: /)")
COPY_PID = 100_000
"""Added to process ids once a copy: no kernel gives out as many at once."""


@dataclass(frozen=True)
class Shift:
    """What one copy adds to the ids of its original."""

    copy: int
    frames: int
    files: int
    own_codes: bool = False

    def head(self, line: bytes, md5: bytes | None) -> bytes:
        """A record's line; `md5`: its payload's, where it has one."""
        found = HEAD.match(line)
        if found is None:
            return line
        before, pid, place, record = found.groups()
        record = FRAME_ID.sub(lambda m: m[1] + b"%d" % (int(m[2]) + self.frames), record)
        record = FILE_ID.sub(lambda m: m[1] + b"%d" % (int(m[2]) + self.files), record)
        record = INTERNED.sub(lambda m: m[1] + b"%d" % (int(m[2]) + self.files) + m[3], record)
        if md5 is not None:
            record = MD5.sub(lambda m: m[1] + md5 + m[3], record)
        return before + b"%d" % (int(pid) + COPY_PID * self.copy) + place + record

    def payload(self, text: bytes) -> bytes:
        if not self.own_codes:
            return text
        text = AOT_ID.sub(lambda m: m[1] + b"%d" % (int(m[2]) + self.frames) + m[3], text)
        return SOURCE_COMMENT.sub(rb"\g<1>copy%d/" % self.copy, text)


def segments(log: BinaryIO) -> Iterator[tuple[bytes, list[bytes]]]:
    """Each line that starts a record, with the lines of its payload."""
    head: bytes | None = None
    payload: list[bytes] = []
    for line in log:
        if line.startswith(b"\t") and head is not None:
            payload.append(line)
            continue
        if head is not None:
            yield head, payload
        head, payload = line, []
    if head is not None:
        yield head, payload


def copy_of(log: BinaryIO, shift: Shift) -> Iterator[bytes]:
    """The log with shifted ids, piece by piece."""
    for head, lines in segments(log):
        if not lines:
            yield shift.head(head, None)
            continue
        plain = b"".join(line[1:] for line in lines).removesuffix(b"\n")
        shifted = shift.payload(plain)
        sound = MD5.search(head)
        md5 = None
        if sound is not None and sound[2] == hashlib.md5(plain).hexdigest().encode():
            md5 = hashlib.md5(shifted).hexdigest().encode()
        yield shift.head(head, md5)
        yield b"\t" + shifted.replace(b"\n", b"\n\t") + b"\n"


def used_ids(log: Path) -> tuple[int, int]:
    """How many frame ids and ids of file names a log uses."""
    frames = files = 0
    with log.open("rb") as stream:
        for line in stream:
            if line.startswith(b"\t"):
                continue
            for found in FRAME_ID.finditer(line):
                frames = max(frames, int(found[2]) + 1)
            interned = INTERNED.match(line[line.find(b"] ") + 2 :])
            if interned is not None:
                files = max(files, int(interned[2]) + 1)
    return frames, files


def replicate(logs: list[Path], target: Path, size: int, *, own_codes: bool) -> int:
    """Writes copies of all logs, in turn, until the target has `size` bytes; how many copies."""
    used = [used_ids(log) for log in logs]
    frames = files = copies = written = 0
    with target.open("wb") as out:
        while written < size:
            log = logs[copies % len(logs)]
            with log.open("rb") as stream:
                for piece in copy_of(stream, Shift(copies, frames, files, own_codes)):
                    written += out.write(piece)
            more_frames, more_files = used[copies % len(logs)]
            frames, files, copies = frames + more_frames, files + more_files, copies + 1
    return copies


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("bytes", type=int)
    parser.add_argument("logs", type=Path, nargs="+")
    parser.add_argument("--own-codes", action="store_true")
    given = parser.parse_args()
    copies = replicate(given.logs, given.out, given.bytes, own_codes=given.own_codes)
    print(f"{given.out}: {given.out.stat().st_size:,} bytes, {copies} copies")


if __name__ == "__main__":
    main()
