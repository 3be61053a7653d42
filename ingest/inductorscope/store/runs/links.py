"""Packs the links of a graph as the answer that the explorer requests."""

import msgspec
from msgspec.structs import asdict

from inductorscope.correlate.links.model import CALLS, GraphLinks, StageLinks
from inductorscope.store.contents.packing import COLUMNS, compressor, decompressed
from inductorscope.store.database import storable
from inductorscope.store.runs.draft import PackedLinks

PASSING_LEVEL = 3
"""Compression of links that will soon be replaced."""


class Links(msgspec.Struct):
    """All references of one graph."""

    engine: str
    entities: list[str]
    stages: dict[str, StageLinks]


def pack_links(links: GraphLinks) -> bytes:
    """Encodes links as JSON and compresses it with zstd."""
    level = PASSING_LEVEL if links.engine == CALLS else COLUMNS
    answer = Links(
        engine=links.engine,
        entities=[storable.text(entity) for entity in links.entities],
        stages={storable.text(name): stage for name, stage in links.stages.items()},
    )
    return compressor(level).compress(msgspec.json.encode(answer))


def packed(links: GraphLinks) -> PackedLinks:
    return PackedLinks(links.engine, pack_links(links), asdict(links.coverage), links.notes)


def unpack_links(payload: bytes) -> GraphLinks:
    """Restores links from their payload; coverage and notes are stored separately."""
    read = msgspec.json.decode(decompressed(payload), type=Links)
    return GraphLinks(read.entities, read.stages, engine=read.engine)
