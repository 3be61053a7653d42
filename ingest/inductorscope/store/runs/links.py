"""Packs the links of a graph as the answer that the explorer requests."""

from __future__ import annotations

import msgspec
from msgspec.structs import asdict

from inductorscope.correlate.links import model
from inductorscope.correlate.links.model import CALLS, ENGINE, GraphLinks
from inductorscope.store.contents.packing import COLUMNS, compressor, decompressed
from inductorscope.store.database import storable
from inductorscope.store.runs.draft import PackedLinks

PASSING_LEVEL = 3
"""Compression of links that will soon be replaced."""

TODAYS_ENGINE = ENGINE
"""Version of the link engine: stored links of another version are made again."""


class StageLinks(msgspec.Struct, gc=False):
    """References of one stage as parallel columns sorted by line."""

    lines: list[int]
    entities: list[int]
    """Indices into `entities`."""
    confidence: list[int]
    """1 kernel, 2 inferred, 3 exact."""
    call: list[int]
    """Index of the `call:` entity that the reference is valid for, or -1 for every call."""
    digest: str = ""
    """Digest of the text whose lines these are: no other text of the stage has these references."""


class Links(msgspec.Struct):
    """All references of one graph."""

    engine: str
    entities: list[str]
    stages: dict[str, StageLinks]


def links_json(links: GraphLinks) -> Links:
    return Links(
        engine=links.engine,
        entities=[storable.text(entity) for entity in links.entities],
        stages={
            storable.text(name): StageLinks(
                stage.lines, stage.entities, stage.confidence, stage.call, stage.digest
            )
            for name, stage in links.stages.items()
        },
    )


def pack_links(links: GraphLinks) -> bytes:
    """Encodes links as JSON and compresses it with zstd."""
    level = PASSING_LEVEL if links.engine == CALLS else COLUMNS
    return compressor(level).compress(msgspec.json.encode(links_json(links)))


def packed(links: GraphLinks) -> PackedLinks:
    """Packs links for a draft."""
    return PackedLinks(links.engine, pack_links(links), asdict(links.coverage), links.notes)


def unpack_links(payload: bytes) -> GraphLinks:
    """Restores links from their payload; coverage and notes are stored separately."""
    read = msgspec.json.decode(decompressed(payload), type=Links)
    return GraphLinks(
        entities=read.entities,
        stages={
            name: model.StageLinks(
                name, stage.lines, stage.entities, stage.confidence, stage.call, stage.digest
            )
            for name, stage in read.stages.items()
        },
        engine=read.engine,
    )
