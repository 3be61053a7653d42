"""Answering with stored content: kept compressed, named by its digest, asked for again cheaply."""

from __future__ import annotations

from typing import Annotated

from fastapi import Header
from starlette.responses import Response, StreamingResponse

from inductorscope_server.shapes.base import Shape
from inductorscope_server.web import headers
from inductorscope_server.web.blobs import CHUNK, Content

AcceptEncoding = Annotated[str, Header(include_in_schema=False)]
IfNoneMatch = Annotated[str, Header(include_in_schema=False)]


def whole(
    content: Content, given: dict[str, str], accept_encoding: str, if_none_match: str
) -> Response:
    packed = content.is_zstd and takes_zstd(accept_encoding)
    tag = f'"{content.digest}{".zst" if packed else ""}"'
    kept = kept_headers(tag)
    if is_known(tag, if_none_match):
        return Response(status_code=304, headers=kept)
    if packed:
        encoded = {"Content-Encoding": "zstd"}
        return Response(content.stored(), headers={**given, **kept, **encoded})
    if content.size <= CHUNK:
        return Response(b"".join(content.chunks()), headers={**given, **kept})
    length = {"Content-Length": str(content.size)}
    return StreamingResponse(content.chunks(), headers={**given, **kept, **length})


def written(shape: Shape) -> Response:
    """A long answer as JSON, written in one go: the framework would take it apart first."""
    return Response(shape.model_dump_json(), media_type="application/json")


def kept_headers(tag: str) -> dict[str, str]:
    """Headers of all answers about a file's content."""
    return {
        "ETag": tag,
        "Cache-Control": "private, no-cache",
        "Vary": "Accept-Encoding, Authorization, Cookie",
        "Content-Security-Policy": headers.SANDBOX,
    }


def is_known(tag: str, if_none_match: str) -> bool:
    known = {part.strip().removeprefix("W/") for part in if_none_match.split(",")}
    return tag in known or "*" in known


def takes_zstd(accept_encoding: str) -> bool:
    """Whether an Accept-Encoding header names zstd and does not rule it out."""
    for part in accept_encoding.split(","):
        name, _, parameters = part.partition(";")
        if name.strip().lower() == "zstd":
            quality = parameters.strip().lower().removeprefix("q=").strip()
            return quality not in {"0", "0.0", "0.00", "0.000"}
    return False
