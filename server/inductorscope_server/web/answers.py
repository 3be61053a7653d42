"""Responses with stored content: compressed, named by its digest, revalidated cheaply."""

from collections.abc import Mapping

import msgspec
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from inductorscope_server.serving.downloads import Download
from inductorscope_server.web import headers
from inductorscope_server.web.blobs import CHUNK, Content, packed_json


def whole(request: Request, content: Content, extra: dict[str, str]) -> Response:
    """Returns the whole content, as stored zstd where the client accepts that."""
    as_zstd = content.is_zstd and takes_zstd(request.headers.get("accept-encoding", ""))
    tag = f'"{content.digest}{".zst" if as_zstd else ""}"'
    caching = content_headers(tag)
    if is_known(request, tag):
        return Response(status_code=304, headers=caching)
    sent = {**extra, **caching, **({"Content-Encoding": "zstd"} if as_zstd else {})}
    size, chunks = (
        (content.stored_size, content.stored()) if as_zstd else (content.size, content.chunks())
    )
    if size <= CHUNK:
        return Response(b"".join(chunks), headers=sent)
    return Download(chunks, {**sent, "Content-Length": str(size)})


def json_bytes(answer: object) -> bytes:
    return msgspec.json.encode(answer, enc_hook=_plain)


def _plain(value: object) -> object:
    """Encodes a validated body, which a form shows again."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    raise NotImplementedError(f"{type(value).__name__} is not JSON")


def as_packed_json(request: Request, payload: bytes) -> Response:
    return whole(request, packed_json(payload), {"Content-Type": "application/json"})


def as_json(answer: object, status: int = 200, extra: Mapping[str, str] | None = None) -> Response:
    return Response(json_bytes(answer), status, extra, media_type="application/json")


def attached(text: str, name: str, kind: str) -> Response:
    """Returns a text as a download that browsers do not run."""
    extra = {
        "Content-Disposition": f'attachment; filename="{name}"',
        "Content-Security-Policy": headers.SANDBOX,
        "Cache-Control": "private, no-cache",
    }
    return Response(text, media_type=f"{kind}; charset=utf-8", headers=extra)


def content_headers(tag: str) -> dict[str, str]:
    """Returns the headers of every response with stored content."""
    return {
        "ETag": tag,
        "Cache-Control": "private, no-cache",
        "Vary": "Accept-Encoding, Authorization, Cookie",
        "Content-Security-Policy": headers.SANDBOX,
    }


def is_known(request: Request, tag: str) -> bool:
    """Whether the client has the content already."""
    parts = request.headers.get("if-none-match", "").split(",")
    known = {part.strip().removeprefix("W/") for part in parts}
    return tag in known or "*" in known


def takes_zstd(accept_encoding: str) -> bool:
    """Whether an Accept-Encoding header accepts zstd."""
    for part in accept_encoding.split(","):
        name, _, parameters = part.partition(";")
        if name.strip().lower() == "zstd":
            quality = parameters.strip().lower().removeprefix("q=").strip()
            return quality not in {"0", "0.0", "0.00", "0.000"}
    return False
