"""Reading compressed streams piece by piece, in bounded memory, noticing a cut end."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from typing import BinaryIO, Protocol

import zstandard

from inductorscope.settings import KIB, MIB

XZ_MEMORY = 256 * MIB
"""Enough for `xz -9` (65 MiB) and more; a header may ask for gigabytes."""
ZSTD_WINDOW = 128 * MIB
"""What `zstd -d` accepts unasked."""
ZSTD_FEED = KIB
"""Four bytes of zstd can mean 128 KiB, and the decoder knows no limit on its output: so feed it
little at a time, and a hostile stream costs 32 MiB and not gigabytes."""

BROKEN = (EOFError, zlib.error, lzma.LZMAError, zstandard.ZstdError, gzip.BadGzipFile)
"""What readers raise on damaged data. `bz2` raises a bare OSError without a number."""


class Readable(Protocol):
    def read(self, count: int, /) -> bytes:
        """At most `count` bytes; empty at the end only."""
        ...


def open_packed(file: BinaryIO, kind: str) -> Readable:
    """The plain stream of a compressed file."""
    if kind == "gzip":
        return gzip.GzipFile(fileobj=file, mode="rb")
    if kind == "bzip2":
        return bz2.BZ2File(file, "rb")
    if kind == "xz":
        return _Xz(file)
    return _Zstd(file)


class _Xz:
    """Like `lzma.LZMAFile`, which takes no memory limit."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.decoder = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=XZ_MEMORY)

    def read(self, count: int, /) -> bytes:
        while True:
            if self.decoder.eof:
                rest = (self.decoder.unused_data or self.file.read(64 * KIB)).lstrip(b"\0")
                if not rest:
                    return b""
                self.decoder = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=XZ_MEMORY)
                piece = self.decoder.decompress(rest, count)
            elif self.decoder.needs_input:
                raw = self.file.read(64 * KIB)
                if not raw:
                    raise EOFError("the xz stream is cut short")
                piece = self.decoder.decompress(raw, count)
            else:
                piece = self.decoder.decompress(b"", count)
            if piece:
                return piece


class _Zstd:
    """Like `ZstdDecompressor.stream_reader`, which takes a cut stream for a whole one."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.context = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW)
        self.decoder = self.context.decompressobj()
        self.ready = b""
        self.at = 0

    def read(self, count: int, /) -> bytes:
        while self.at >= len(self.ready):
            self.ready, self.at = b"", 0
            rest = self.decoder.unused_data if self.decoder.eof else b""
            raw = rest or self.file.read(ZSTD_FEED)
            if self.decoder.eof:
                if not raw:
                    return b""
                self.decoder = self.context.decompressobj()
            elif not raw:
                raise EOFError("the zstd stream is cut short")
            self.ready = self.decoder.decompress(raw)
        piece = self.ready[self.at : self.at + count]
        self.at += len(piece)
        return piece
