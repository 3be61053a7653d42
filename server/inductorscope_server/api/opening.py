"""What the explorer's first panes wait for, in one answer: the graph and their texts.

Parts as they are stored, one after the other, after a line of JSON that says how many bytes each
has: a request for each would take longer than what they hold, and texts are not packed anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import accumulate
from typing import Annotated

import zstandard
from fastapi import APIRouter, Query
from inductorscope.answers.explorer.graph import Explorer, explorer_stamp, first_texts
from inductorscope.answers.parts import graph_of
from inductorscope.formats.vocabulary import STAGES
from inductorscope.store.tables.models import Graph, Links
from pydantic_core import to_json
from sqlalchemy.orm import Session, load_only
from starlette.responses import Response

from inductorscope_server.pages.explorer import PANES, found_graph
from inductorscope_server.web import openapi
from inductorscope_server.web.answers import (
    AcceptEncoding,
    IfNoneMatch,
    is_known,
    kept_headers,
    takes_zstd,
)
from inductorscope_server.web.blobs import Content, content_of, packed_json
from inductorscope_server.web.errors import Documented, documented
from inductorscope_server.web.ids import RunId, Slug
from inductorscope_server.web.parts import Reading, Shared

api = APIRouter(prefix="/runs/{run}/graphs/{slug}", tags=[openapi.GRAPHS])

MOST_TEXT = 16 * 1024 * 1024
"""Bytes of texts; those beyond are asked for one by one, while the others show."""
LEVEL = 3
DIGEST = hashlib.sha256().digest_size

Panes = Annotated[str, Query(max_length=2000, pattern=r"^[^\x00-\x1f]*$")]
PARTS: Documented = {200: {"content": {"application/octet-stream": {}}}}


@api.get(
    "/opening",
    summary="What the explorer opens with",
    response_class=Response,
    responses={**PARTS, **documented(404, 422)},
)
def get_opening(
    parts: Shared,
    session: Reading,
    run: RunId,
    slug: Slug,
    panes: Panes = PANES,
    accept_encoding: AcceptEncoding = "",
    if_none_match: IfNoneMatch = "",
) -> Response:
    """A line of JSON, then the parts whose bytes it counts, in this order: `explorer` as at its own
    address, then the texts of the artifacts in `texts` (pairs of an artifact and its bytes) that
    these panes show first. `linked` says whether there are links.
    """
    stages = tuple(sorted({stage.id for stage in STAGES} & set(panes.split(","))))
    stamp = explorer_stamp(session, run, slug)

    def make() -> bytes:
        return _packed(session, run, slug, stages)

    kept = make() if stamp is None else parts.kept.of(("opening", stages, stamp), make)
    digest, packed = kept[:DIGEST].hex(), kept[DIGEST:]
    zstd = takes_zstd(accept_encoding)
    sent = kept_headers(f'"{digest}{".zst" if zstd else ""}"')
    if is_known(sent["ETag"], if_none_match):
        return Response(status_code=304, headers=sent)
    if zstd:
        sent["Content-Encoding"] = "zstd"
    return Response(
        packed if zstd else _plain(packed), media_type="application/octet-stream", headers=sent
    )


def _packed(session: Session, run: str, slug: str, stages: Sequence[str]) -> bytes:
    """The answer packed, after its own digest."""
    explorer = found_graph(session, run, slug)
    graph = graph_of(session, run, slug)
    assert graph is not None
    linked = session.get(Links, graph.id, options=[load_only(Links.engine)]) is not None
    texts = _texts(session, graph, stages)
    parts = [_json(explorer), *texts.values()]
    head = {
        "linked": linked,
        "explorer": parts[0].size,
        "texts": [(artifact, text.size) for artifact, text in texts.items()],
    }
    packed = b"".join([_frame(to_json(head) + b"\n"), *map(_stored, parts)])
    return hashlib.sha256(packed).digest() + packed


def _texts(session: Session, graph: Graph, stages: Sequence[str]) -> dict[int, Content]:
    """The short ones first, so that their panes show first where the way is slow."""
    found = [(each, content_of(session, each)) for each in first_texts(session, graph, stages)]
    texts = sorted(
        [(artifact, content) for artifact, content in found if content is not None],
        key=lambda text: text[1].size,
    )
    held = accumulate(content.size for _, content in texts)
    return {text[0]: text[1] for text, size in zip(texts, held, strict=True) if size <= MOST_TEXT}


def _json(explorer: Explorer) -> Content:
    # Written from the rows themselves: panes wait for this, and calls come by the thousand.
    return packed_json(_frame(to_json(explorer)))


def _frame(plain: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=LEVEL).compress(plain)


def _stored(part: Content) -> bytes:
    return part.stored() if part.is_zstd else _frame(b"".join(part.chunks()))


def _plain(packed: bytes) -> bytes:
    return zstandard.ZstdDecompressor().decompressobj(read_across_frames=True).decompress(packed)
