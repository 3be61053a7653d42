"""Stored files: as text, whole or by lines, and as raw bytes.

ETags are digests of the content, so browsers keep files and only revalidate them.
"""

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query
from inductorscope.answers.missing import NotHere
from starlette.requests import Request
from starlette.responses import Response

from inductorscope_server.access.rules import READS_FILES
from inductorscope_server.serving.downloads import Download
from inductorscope_server.web import openapi
from inductorscope_server.web.answers import (
    content_headers,
    is_known,
    whole,
)
from inductorscope_server.web.blobs import Content, content_of
from inductorscope_server.web.ids import LARGEST, ArtifactId
from inductorscope_server.web.parts import Reading

api = APIRouter(tags=[openapi.FILES], dependencies=[READS_FILES])

LineNumber = Annotated[int | None, Query(ge=1, le=LARGEST)]


@api.get(
    "/artifacts/{artifact}/text",
    summary="A stored file as text",
    **openapi.answers("text/plain", 404, 422),
)
def artifact_text(
    request: Request,
    session: Reading,
    artifact: ArtifactId,
    first: LineNumber = None,
    last: LineNumber = None,
) -> Response:
    """Returns lines `first` to `last`, inclusive, or the whole file; none if `last` is before
    `first`.

    Whole files are sent as stored zstd to clients that accept it.
    """
    content = _content(session, artifact)
    extra = {"Content-Type": "text/plain; charset=utf-8"}
    if first is None and last is None:
        return whole(request, content, extra)
    tag = f'"{content.digest}.{first or 1}-{last or ""}"'
    caching = content_headers(tag)
    if is_known(request, tag):
        return Response(status_code=304, headers=caching)
    return Download(content.lines(first or 1, last), {**extra, **caching})


@api.get(
    "/artifacts/{artifact}/raw",
    summary="A stored file to download",
    **openapi.answers(openapi.BYTES, 404, 422),
)
def artifact_raw(request: Request, session: Reading, artifact: ArtifactId) -> Response:
    """Returns the bytes as a download, which browsers never show."""
    content = _content(session, artifact)
    extra = {
        "Content-Type": "application/octet-stream",
        "Content-Disposition": _attachment(content.path),
    }
    return whole(request, content, extra)


def _content(session: Reading, artifact: int) -> Content:
    content = content_of(session, artifact)
    if content is None:
        raise NotHere(f"There is no stored file {artifact}.", "Its run may have been deleted.")
    return content


def _attachment(path: str) -> str:
    """Returns a Content-Disposition with the file's name, for old and new browsers."""
    name = path.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1] or "file"
    plain = "".join(
        letter if letter.isascii() and (letter.isalnum() or letter in "._-+~ ") else "_"
        for letter in name
    )
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
