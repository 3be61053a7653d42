"""Resumable uploads: say what comes, send each file from where it ends, finish.

The size of a file on disk is the truth about how much of it has arrived, so a client may vanish,
or this process, and the upload goes on from there.
"""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, Header
from inductorscope import urls
from inductorscope.jobs.errors import OffsetError, UploadOverError, UploadRefusedError
from inductorscope.jobs.records import UploadState
from inductorscope.jobs.uploads.files import Appending
from inductorscope.settings import PREFIX
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from inductorscope_server.api.bodies import JobStarted, UploadAsked
from inductorscope_server.web import openapi
from inductorscope_server.web.errors import Refusal, documented
from inductorscope_server.web.ids import LARGEST, FileIndex, UploadId
from inductorscope_server.web.parts import Parts, Shared

api = APIRouter(prefix="/uploads", tags=[openapi.UPLOADS])

WRITE_BYTES = 1024 * 1024
"""Bytes gathered for one write: larger costs memory, smaller costs changes of thread."""
WRITE_SECONDS = 0.05
"""After which fewer are written: somebody may be reading them as they come."""

OFFSET_HEADER = {
    "Upload-Offset": {
        "description": "How many bytes of the file have arrived.",
        "schema": {"type": "integer", "minimum": 0},
    }
}
RAW_BODY = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


@api.post(
    "",
    status_code=201,
    summary="Announce an upload",
    responses=documented(403, 413, 422, 507),
)
def create_upload(parts: Shared, asked: UploadAsked, response: Response) -> UploadState:
    """Names and sizes of the files to come; then send each with PATCH."""
    files = [(file.path, file.size) for file in asked.files]
    made = parts.jobs.create_upload(asked.name, asked.tags, files)
    response.headers["Location"] = f"{urls.api_uploads()}/{made.id}"
    return made


@api.get("/{upload}", summary="How much of an upload has arrived", responses=documented(404, 422))
def upload_state(parts: Shared, upload: UploadId) -> UploadState:
    """After a break, go on with each file from its `received`."""
    return parts.jobs.upload(upload)


@api.patch(
    "/{upload}/files/{index}",
    status_code=204,
    summary="Send a file, or the rest of it",
    response_class=Response,
    openapi_extra=RAW_BODY,
    responses={
        204: {"description": "All of it arrived", "headers": OFFSET_HEADER},
        **documented(403, 404, 413, 422, 507),
        409: {**documented(409)[409], "headers": OFFSET_HEADER},
    },
)
async def send_file(
    request: Request,
    parts: Shared,
    upload: UploadId,
    index: FileIndex,
    upload_offset: Annotated[
        int, Header(ge=0, le=LARGEST, description="Where in the file the body starts.")
    ],
    content_length: Annotated[int | None, Header(include_in_schema=False)] = None,
) -> Response:
    """The body is the file's bytes as they are, from `Upload-Offset` on.

    When the offset is not where the file ends, 409 tells where it does. Bytes that arrived stay,
    also when the connection breaks.
    """
    _check_length(parts, content_length)
    file = await run_in_threadpool(_open, parts, upload, index, upload_offset)
    try:
        await _write_body(request, file)
        return Response(status_code=204, headers={"Upload-Offset": str(file.offset)})
    except UploadRefusedError as error:
        raise Refusal(413, error.what, do="Announce the file with its true size.") from error
    finally:
        file.close()


def _check_length(parts: Parts, length: int | None) -> None:
    """Before a byte is read; bodies without a length are counted as they come."""
    limit = parts.settings.max_upload_bytes
    if length is not None and length > limit:
        raise Refusal(
            413,
            f"The body has {length:,} bytes; uploads are limited to {limit:,}.",
            do=f"Send less at a time, or raise {PREFIX}MAX_UPLOAD_BYTES.",
            limit=f"{PREFIX}MAX_UPLOAD_BYTES",
        )


def _open(parts: Parts, upload: str, index: int, offset: int) -> Appending:
    try:
        return parts.jobs.open_file(upload, index, offset)
    except UploadOverError as error:
        # All of it arrived, or the upload would not be finished: the true offset is its end.
        size = parts.jobs.upload(upload).files[index].size
        raise OffsetError(error.what, size) from error


async def _write_body(request: Request, file: Appending) -> None:
    """Write the body as it comes; what has come is written also when the client is gone."""
    gathered = bytearray()
    written = time.monotonic()
    try:
        async for chunk in request.stream():
            gathered += chunk
            if len(gathered) >= WRITE_BYTES or time.monotonic() - written > WRITE_SECONDS:
                await run_in_threadpool(file.write, bytes(gathered))
                gathered.clear()
                written = time.monotonic()
    except ClientDisconnect:
        if gathered:
            await run_in_threadpool(file.write, bytes(gathered))
        raise
    if gathered:
        await run_in_threadpool(file.write, bytes(gathered))


@api.post(
    "/{upload}/finish",
    status_code=202,
    summary="Have an upload read",
    responses=documented(403, 404, 409, 422),
)
def finish_upload(parts: Shared, upload: UploadId, response: Response) -> JobStarted:
    """Starts the job that reads it. Finishing again gives the same job."""
    job = parts.jobs.finish_upload(upload)
    response.headers["Location"] = urls.api_job(job)
    return JobStarted(job=job)
