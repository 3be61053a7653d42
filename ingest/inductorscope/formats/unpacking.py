"""Plain bytes of a stream that may be compressed, some at a time, and all that a damaged one has
before its damage. How little input is unpacked at once bounds the memory that it can take."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import BinaryIO, Protocol

import zstandard

MIB = 1024 * 1024
GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
GZIP_READ = 64 * 1024
ZSTD_READ = 1024
"""A block of up to 128 KiB packs into some 4 bytes, so that 1 KiB unpacks to 32 MiB at most."""
LARGEST_WINDOW = 128 * MIB
GZIP_WRAPPER = 31
"""What zlib calls a stream with the header and the check sum of gzip."""


class Readable(Protocol):
    """Gives up to `size` bytes, none at the end."""

    def read(self, size: int, /) -> bytes: ...


class DamagedError(OSError):
    """A compressed stream cannot be read any further; all before was given."""


def is_packed(head: bytes) -> bool:
    """Whether a stream that begins so is one that `open_plain` unpacks."""
    return head.startswith((GZIP, ZSTD))


def open_plain(stream: BinaryIO) -> Readable:
    """`stream`, which can seek, from where it stands: plain, of gzip or of zstd."""
    start = stream.tell()
    head = stream.read(len(ZSTD))
    stream.seek(start)
    if head.startswith(GZIP):
        return _Unpacked(_gzip_parts(stream))
    if head == ZSTD:
        return _Unpacked(_zstd_parts(stream))
    return stream


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
    while packed := packed or stream.read(GZIP_READ):
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
            packed = _next_member(unpacker.unused_data, stream)
            if not packed:
                return
            unpacker = zlib.decompressobj(GZIP_WRAPPER)
    if rest := unpacker.flush():
        yield rest
    raise DamagedError("the compressed data ends too early")


def _next_member(rest: bytes, stream: BinaryIO) -> bytes:
    """What follows the end of a gzip member; zeros in between are padding."""
    while not (rest := rest.lstrip(b"\0")):
        rest = stream.read(GZIP_READ)
        if not rest:
            return b""
    return rest


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
    decompressor = zstandard.ZstdDecompressor(max_window_size=LARGEST_WINDOW)
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
            raise DamagedError("the compressed data ends too early")
        if packed and unpacker.eof:
            unpacker = decompressor.decompressobj()
