"""Recognises archives by their first bytes, not by their names."""

from inductorscope.formats.unpacking import packing_of
from inductorscope.intake.exported import BEGIN

HEAD = 1024
"""Bytes needed to recognise an archive."""

PACKINGS = {"gzip", "xz", "zstd", "bzip2"}
"""Compressions of a single stream."""

ARCHIVES = PACKINGS | {"zip", "tar", "export"}

ARCHIVE_ENDINGS = (
    ".zip", ".tar", ".tgz", ".txz", ".tzst", ".gz", ".xz", ".zst", ".bz2", ".7z", ".rar",
)  # fmt: skip

# Not supported, but worth a better message than "not an archive".
FOREIGN = {"7z", "rar", "cab"}

_MAGIC = (
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
    (b"PK\x07\x08", "zip"),
    (BEGIN, "export"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"Rar!\x1a\x07", "rar"),
    (b"MSCF\0\0\0\0", "cab"),
)


def kind_of(head: bytes) -> str | None:
    """Returns 'zip', 'tar', 'gzip', …, or None for anything else."""
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    return packing_of(head) or ("tar" if is_tar(head) else None)


def is_tar(head: bytes) -> bool:
    """Whether the first block is a tar header, judged by its checksum: old tars have no magic."""
    block = head[:512]
    if len(block) < 512 or not block.strip(b"\0"):
        return False
    digits = block[148:156].strip(b" \0")
    if not digits or not all(48 <= digit < 56 for digit in digits):
        return False
    return int(digits, 8) == sum(block[:148]) + 8 * 32 + sum(block[156:])
