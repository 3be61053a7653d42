"""What a file is by its first bytes, whatever it is called."""

from __future__ import annotations

HEAD = 1024
"""Bytes that suffice to tell."""

PACKINGS = {"gzip", "xz", "zstd", "bzip2"}
"""Compressions of a single stream."""

ARCHIVES = PACKINGS | {"zip", "tar"}

ARCHIVE_ENDINGS = (
    ".zip", ".tar", ".tgz", ".txz", ".tzst", ".gz", ".xz", ".zst", ".bz2", ".7z", ".rar",
)  # fmt: skip

# Read by no part of ours, but worth a better word than "not an archive".
FOREIGN = {"7z", "rar", "cab"}

_MAGIC = (
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
    (b"PK\x07\x08", "zip"),
    (b"\x1f\x8b", "gzip"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"BZh", "bzip2"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"Rar!\x1a\x07", "rar"),
    (b"MSCF\0\0\0\0", "cab"),
)


def kind_of(head: bytes) -> str | None:
    """'zip', 'tar', 'gzip', …, or None for anything else."""
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    if _zstd_skippable(head):
        return "zstd"
    return "tar" if is_tar(head) else None


def _zstd_skippable(head: bytes) -> bool:
    """A zstd stream may begin with a frame to skip; parallel compressors write such."""
    return len(head) >= 4 and 0x50 <= head[0] <= 0x5F and head[1:4] == b"\x2a\x4d\x18"


def is_tar(head: bytes) -> bool:
    """Whether the first block is a tar header, by its checksum: old tars carry no magic."""
    block = head[:512]
    if len(block) < 512 or not block.strip(b"\0"):
        return False
    digits = block[148:156].strip(b" \0")
    if not digits or not all(48 <= digit < 56 for digit in digits):
        return False
    return int(digits, 8) == sum(block[:148]) + 8 * 32 + sum(block[156:])
