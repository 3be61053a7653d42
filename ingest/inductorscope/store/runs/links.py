"""Packs the links of a graph as the answer that the explorer requests."""

from __future__ import annotations

import msgspec
import zstandard
from msgspec.structs import asdict

from inductorscope.correlate.links.model import CALLS, ENGINE, Coverage, GraphLinks, StageLinks
from inductorscope.store.contents.packing import COLUMNS, compressor
from inductorscope.store.database import storable
from inductorscope.store.database.storable import JsonObject
from inductorscope.store.runs.draft import PackedLinks

PASSING_LEVEL = 3
"""Compression of links that will soon be replaced."""

TODAYS_ENGINE = ENGINE
"""Version of the link engine: stored links of another version are made again."""


class StageColumns(msgspec.Struct, gc=False):
    """References of one stage, as parallel columns sorted by line."""

    lines: list[int]
    entities: list[int]
    confidence: list[int]
    call: list[int]
    digest: str = ""


class LinksJson(msgspec.Struct):
    """All references of one graph, as the API returns them."""

    engine: str
    entities: list[str]
    stages: dict[str, StageColumns]


def links_json(links: GraphLinks) -> LinksJson:
    return LinksJson(
        engine=links.engine,
        entities=[storable.text(entity) for entity in links.entities],
        stages={
            storable.text(name): StageColumns(
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
    return PackedLinks(links.engine, pack_links(links), coverage_json(links.coverage), links.notes)


def unpack_json(payload: bytes) -> bytes:
    """Returns the JSON text of packed links."""
    return zstandard.ZstdDecompressor().decompressobj().decompress(payload)


def unpack_links(
    payload: bytes, coverage: JsonObject | None = None, notes: list[str] | None = None
) -> GraphLinks:
    """Restores links from their payload, and coverage and notes, which are stored separately."""
    read = msgspec.json.decode(unpack_json(payload), type=LinksJson)
    return GraphLinks(
        entities=read.entities,
        stages={
            name: StageLinks(
                name, stage.lines, stage.entities, stage.confidence, stage.call, stage.digest
            )
            for name, stage in read.stages.items()
        },
        coverage=msgspec.convert(coverage or {}, Coverage),
        notes=list(notes or []),
        engine=read.engine,
    )


def coverage_json(coverage: Coverage) -> JsonObject:
    return asdict(coverage)
