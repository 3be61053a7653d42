"""Compression of stored contents with zstd.

The built-in levels allocate tables of 6 to 11 MB for each content longer than 256 KB. These
parameters, chosen for code, names and numbers, need tables of 1 MB.
"""

import msgspec
import zstandard

CODE = zstandard.ZstdCompressionParameters(
    window_log=20, chain_log=16, hash_log=17, search_log=3, min_match=7, target_length=32,
    strategy=zstandard.STRATEGY_LAZY2,
)  # fmt: skip
"""For code, which repeats long pieces: within 2 % of the size at level 9, in two thirds of the
time."""
COLUMNS = zstandard.ZstdCompressionParameters(
    window_log=20, chain_log=16, hash_log=17, search_log=3, min_match=4, target_length=16,
    strategy=zstandard.STRATEGY_LAZY2,
)  # fmt: skip
"""For columns of names and numbers: the size of level 9, and no slower."""

Level = int | zstandard.ZstdCompressionParameters


def compressor(level: Level) -> zstandard.ZstdCompressor:
    """Returns a compressor for a level or parameters."""
    if isinstance(level, int):
        return zstandard.ZstdCompressor(level=level)
    return zstandard.ZstdCompressor(compression_params=level)


class Packed(msgspec.Struct, frozen=True):
    """A content as it is stored, to be unpacked in a process without a database."""

    encoding: str
    data: bytes

    def plain(self) -> bytes:
        return decompressed(self.data) if self.encoding == "zstd" else self.data


def decompressed(stored: bytes) -> bytes:
    """Returns the content of one frame or of several."""
    return zstandard.ZstdDecompressor().decompressobj(read_across_frames=True).decompress(stored)
