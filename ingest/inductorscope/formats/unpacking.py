"""Reads a compressed stream piece by piece, in bounded memory.

A damaged stream gives all that comes before its damage, then raises. What bounds the memory is how
little is unpacked at once, since a few bytes can stand for megabytes.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO, Protocol

import zstandard

from inductorscope.formats.units import KIB, MIB

READ = 64 * KIB
ZSTD_READ = KIB
"""zstd takes no limit on its output: 4 bytes can mean 128 KiB, so this much unpacks to 32 MiB."""
ZSTD_WINDOW = 128 * MIB
"""What `zstd -d` accepts by default."""
XZ_MEMORY = 256 * MIB
"""Enough for `xz -9` (65 MiB) and more; a header may ask for gigabytes."""
GZIP_WRAPPER = 31
"""What zlib calls a stream with the header and the checksum of gzip."""
LONGEST_MAGIC = 6

_MAGIC = (
    (b"\x1f\x8b", "gzip"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"BZh", "bzip2"),
)


class Readable(Protocol):
    def read(self, size: int, /) -> bytes:
        """At most `size` bytes; empty at the end only."""
        ...


class DamagedError(OSError):
    """A compressed stream cannot be read any further; everything before was given."""


def packing_of(head: bytes) -> str | None:
    """`gzip`, `xz`, `zstd` or `bzip2`, by the first bytes of a stream; None for any other."""
    for magic, packing in _MAGIC:
        if head.startswith(magic):
            return packing
    # A zstd stream may begin with a frame to skip; parallel compressors write such.
    if len(head) >= 4 and 0x50 <= head[0] <= 0x5F and head[1:4] == b"\x2a\x4d\x18":
        return "zstd"
    return None


def open_plain(stream: BinaryIO) -> Readable:
    """The plain bytes of a stream, from where it stands; it must be able to seek."""
    start = stream.tell()
    packing = packing_of(stream.read(LONGEST_MAGIC))
    stream.seek(start)
    return stream if packing is None else _Unpacked(_UNPACKERS[packing](stream))


class _Unpacked:
    def __init__(self, parts: Iterator[bytes]) -> None:
        self.parts = parts
        self.part = b""
        self.position = 0

    def read(self, size: int, /) -> bytes:
        if self.position >= len(self.part):
            self.part, self.position = next(self.parts, b""), 0
        data = self.part[self.position : self.position + size]
        self.position += len(data)
        return data


def _gzip_parts(stream: BinaryIO) -> Iterator[bytes]:
    unpacker = zlib.decompressobj(GZIP_WRAPPER)
    packed = b""
    while packed := packed or stream.read(READ):
        before = unpacker.copy()
        try:
            plain = unpacker.decompress(packed, MIB)
        except zlib.error as error:
            yield from _up_to_the_damage(before, packed)
            raise DamagedError(str(error)) from error
        if plain:
            yield plain
        packed = unpacker.unconsumed_tail
        if unpacker.eof:
            packed = _after_padding(unpacker.unused_data, stream)
            if not packed:
                return
            unpacker = zlib.decompressobj(GZIP_WRAPPER)
    if rest := unpacker.flush():
        yield rest
    raise _cut_short()


def _up_to_the_damage(unpacker: zlib._Decompress, packed: bytes) -> Iterator[bytes]:
    """A call that fails keeps what it had unpacked till then, so bytes are handed over singly."""
    for at in range(len(packed)):
        try:
            plain = unpacker.decompress(packed[at : at + 1])
        except zlib.error:
            return
        if plain:
            yield plain


def _zstd_parts(stream: BinaryIO) -> Iterator[bytes]:
    decompressor = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW)
    unpacker = decompressor.decompressobj()
    packed = stream.read(ZSTD_READ)
    while packed:
        try:
            plain = unpacker.decompress(packed)
        except zstandard.ZstdError as error:
            raise DamagedError(str(error)) from error
        if plain:
            yield plain
        packed = unpacker.unused_data if unpacker.eof else b""
        packed = packed or stream.read(ZSTD_READ)
        if not packed and not unpacker.eof:
            raise _cut_short()
        if packed and unpacker.eof:
            unpacker = decompressor.decompressobj()


def _xz_parts(stream: BinaryIO) -> Iterator[bytes]:
    return _parts(stream, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=XZ_MEMORY))


def _bzip2_parts(stream: BinaryIO) -> Iterator[bytes]:
    return _parts(stream, bz2.BZ2Decompressor)


def _parts(
    stream: BinaryIO, new: Callable[[], lzma.LZMADecompressor | bz2.BZ2Decompressor]
) -> Iterator[bytes]:
    unpacker = new()
    packed = stream.read(READ)
    while True:
        try:
            plain = unpacker.decompress(packed, MIB)
        except (lzma.LZMAError, OSError) as error:  # a bare OSError is how bz2 speaks of damage
            raise DamagedError(str(error)) from error
        if plain:
            yield plain
        packed = b""
        if unpacker.eof:
            packed = _after_padding(unpacker.unused_data, stream)
            if not packed:
                return
            unpacker = new()
        elif unpacker.needs_input:
            packed = stream.read(READ)
            if not packed:
                raise _cut_short()


def _after_padding(rest: bytes, stream: BinaryIO) -> bytes:
    """What follows the end of a compressed stream; zeros in between are padding."""
    while not (rest := rest.lstrip(b"\0")):
        rest = stream.read(READ)
        if not rest:
            return b""
    return rest


def _cut_short() -> DamagedError:
    return DamagedError("the compressed data ends too early")


_UNPACKERS: dict[str, Callable[[BinaryIO], Iterator[bytes]]] = {
    "gzip": _gzip_parts,
    "zstd": _zstd_parts,
    "xz": _xz_parts,
    "bzip2": _bzip2_parts,
}
