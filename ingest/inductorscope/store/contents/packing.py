"""How zstd packs what is stored.

Its own levels take tables of 6 to 11 MB for what is longer than a quarter of a megabyte, anew for
each. These are the best parts of them for what we have, with tables of 1 MB.
"""

from __future__ import annotations

import zstandard

CODE = zstandard.ZstdCompressionParameters(
    window_log=20, chain_log=16, hash_log=17, search_log=3, min_match=7, target_length=32,
    strategy=zstandard.STRATEGY_LAZY2,
)  # fmt: skip
"""For code, which repeats itself in long pieces: within 2 % of what level 9 makes of it, in two
thirds of the time."""
COLUMNS = zstandard.ZstdCompressionParameters(
    window_log=20, chain_log=16, hash_log=17, search_log=3, min_match=4, target_length=16,
    strategy=zstandard.STRATEGY_LAZY2,
)  # fmt: skip
"""For columns of names and numbers: as small as level 9 makes them, and no slower."""

Level = int | zstandard.ZstdCompressionParameters


def compressor(level: Level) -> zstandard.ZstdCompressor:
    """One that packs at a level or by parameters."""
    if isinstance(level, int):
        return zstandard.ZstdCompressor(level=level)
    return zstandard.ZstdCompressor(compression_params=level)
