"""Reads a compressed stream piece by piece, in bounded memory.

A damaged stream returns everything before the damage, then raises. Each step unpacks little, since
a few bytes can expand to megabytes.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import BinaryIO, Protocol

import zstandard

from inductorscope.formats.sizes import KIB, MIB

READ = 64 * KIB
ZSTD_READ = KIB
"""zstd has no limit on its output: 4 bytes can expand to 128 KiB, so this many expand to at most 32
MiB."""
ZSTD_WINDOW = 128 * MIB
"""The default limit of `zstd -d`."""
XZ_MEMORY = 256 * MIB
"""Enough for `xz -9` (65 MiB) and more; a header may ask for gigabytes."""
GZIP_WRAPPER = 31
"""zlib's `wbits` for a stream with gzip's header and checksum."""
LONGEST_MAGIC = 6

_MAGIC = (
    (b"\x1f\x8b", "gzip"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"BZh", "bzip2"),
)


class Readable(Protocol):
    def read(self, size: int, /) -> bytes:
        """Reads at most `size` bytes; empty only at the end."""
        ...


class DamagedError(OSError):
    """A compressed stream is damaged; everything before the damage was returned."""


def packing_of(head: bytes) -> str | None:
    """`gzip`, `xz`, `zstd` or `bzip2`, by the first bytes of a stream; None for others."""
    for magic, packing in _MAGIC:
        if head.startswith(magic):
            return packing
    # A zstd stream may begin with a skippable frame; parallel compressors write these.
    if len(head) >= 4 and 0x50 <= head[0] <= 0x5F and head[1:4] == b"\x2a\x4d\x18":
        return "zstd"
    return None


def open_plain(stream: BinaryIO) -> Readable:
    """The unpacked bytes of a seekable stream, from its current position."""
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
    """Unpacks byte by byte: a call that fails drops what it has unpacked."""
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


def _parts(
    new: Callable[[], lzma.LZMADecompressor | bz2.BZ2Decompressor], stream: BinaryIO
) -> Iterator[bytes]:
    unpacker = new()
    packed = stream.read(READ)
    while True:
        try:
            plain = unpacker.decompress(packed, MIB)
        except (lzma.LZMAError, OSError) as error:  # bz2 raises a plain OSError on damage
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
    """The bytes after the end of a compressed stream, without zeros, which are padding."""
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
    "xz": partial(_parts, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=XZ_MEMORY)),
    "bzip2": partial(_parts, bz2.BZ2Decompressor),
}
