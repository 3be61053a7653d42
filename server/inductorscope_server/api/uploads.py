"""Resumable uploads: announce the files, send each one, finish.

An upload's progress is the stored size of its files, so it can resume after the client or this
process stops, also at another web process.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from functools import partial
from typing import Annotated, Any

import msgspec
from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Header
from fastapi.routing import APIRoute
from inductorscope import urls
from inductorscope.formats.sizes import MIB
from inductorscope.jobs.errors import (
    FileBusyError,
    OffsetError,
    UploadOverError,
    UploadRefusedError,
)
from inductorscope.jobs.records import KeptUpload, UploadState
from inductorscope.jobs.uploads.files import Receiving
from inductorscope.settings import PREFIX
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from inductorscope_server.access.rules import UPLOADS
from inductorscope_server.api.bodies import UploadRequest, check_announcement, started, starts
from inductorscope_server.web import openapi
from inductorscope_server.web.answers import as_json
from inductorscope_server.web.errors import Refusal, documented
from inductorscope_server.web.ids import LARGEST, FileIndex, UploadId
from inductorscope_server.web.parts import Parts, Shared, parts_of


class Route(APIRoute):
    """Checks the form of an announcement before its body is parsed and validated."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        if self.methods != {"POST"} or not self.path.endswith("/uploads"):
            return handle

        async def checked(request: Request) -> Response:
            most = parts_of(request).settings.max_members
            wrong = await run_in_threadpool(check_announcement, await request.body(), most)
            if wrong is not None:
                raise Refusal(422, f"The body is invalid: {wrong}.", where="body")
            return await handle(request)

        return checked


api = APIRouter(
    prefix="/uploads", tags=[openapi.UPLOADS], route_class=Route, dependencies=[UPLOADS]
)
files = APIRouter(prefix="/uploads", tags=[openapi.UPLOADS], dependencies=[UPLOADS])

WRITE_BYTES = MIB
"""Bytes per write: more costs memory, fewer costs thread switches."""
WRITE_SECONDS = 0.05
"""Longest delay before fewer bytes are written."""
BUSY_SECONDS = 5.0
"""How long a request waits for another one that writes the same file. A client that reconnects may
be faster than the server in noticing that its old connection broke."""
BUSY_PAUSE_SECONDS = 0.2


class KeptUploads(msgspec.Struct, frozen=True):
    """Uploads that take room on the disk although no job reads them or waits to."""

    uploads: list[KeptUpload]


OFFSET_HEADER = {
    "Upload-Offset": {
        "description": "Number of bytes of the file that have arrived.",
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
    summary="Announce an upload",
    **openapi.answers(UploadState, 403, 413, 422, 429, 507, status=201),
)
def create_upload(parts: Shared, body: UploadRequest) -> Response:
    """Takes the names and sizes of the files. Then send each file with PATCH."""
    files = [(file.path, file.size) for file in body.files]
    upload = parts.jobs.uploads.create(body.name, body.tags, files, body.project)
    return as_json(upload, 201, {"Location": f"{urls.API}/uploads/{upload.id}"})


@api.get("", summary="Uploads that no job reads", **openapi.answers(KeptUploads))
def kept_uploads(parts: Shared) -> Response:
    """Lists unfinished uploads, and those whose job failed within a day; newest first.

    Their files take room on the server's disk. `DELETE` drops one.
    """
    return as_json(KeptUploads(parts.jobs.uploads.kept()))


@api.delete("/{upload}", summary="Drop an upload", **openapi.answers(None, 403, 404, 409, 507))
def drop_upload(parts: Shared, upload: UploadId) -> Response:
    """Removes an upload and its files. To drop an upload that a job reads, cancel the job."""
    parts.jobs.uploads.drop(upload)
    return Response(status_code=204)


@api.get("/{upload}", summary="State of an upload", **openapi.answers(UploadState, 404, 422))
def upload_state(parts: Shared, upload: UploadId) -> Response:
    """Returns how much of each file has arrived. To resume an upload, continue each file from its
    `received`."""
    return as_json(parts.jobs.uploads.get(upload))


@files.patch(
    "/{upload}/files/{index}",
    status_code=204,
    summary="Send a file or the rest of it",
    response_class=Response,
    openapi_extra=RAW_BODY,
    responses={
        204: {"description": "The whole body arrived", "headers": OFFSET_HEADER},
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
    """Takes the raw bytes of the file from `Upload-Offset` on.

    If the offset is not the file's current end, 409 returns the correct one. Bytes that arrived
    are kept even if the connection breaks.
    """
    _check_length(parts, content_length)
    async with _alone(parts, upload, index) as until:
        file = await _open_when_free(parts, upload, index, upload_offset, until)
        with file:
            try:
                await _write_body(request, file, parts.receiving)
            except UploadRefusedError as error:
                raise Refusal(
                    413, error.what, do="Announce the file with its true size."
                ) from error
        return Response(status_code=204, headers={"Upload-Offset": str(file.offset)})


def _check_length(parts: Parts, length: int | None) -> None:
    """Refuses large bodies before reading; bodies without a length are counted on arrival."""
    limit = parts.settings.max_upload_bytes
    if length is not None and length > limit:
        raise Refusal(
            413,
            f"The body has {length:,} bytes; uploads are limited to {limit:,}.",
            do=f"Send less at a time, or raise {PREFIX}MAX_UPLOAD_BYTES.",
            limit=f"{PREFIX}MAX_UPLOAD_BYTES",
        )


@contextlib.asynccontextmanager
async def _alone(parts: Parts, upload: str, index: int) -> AsyncIterator[float]:
    """Waits, without a thread, for other requests of this process that write the same file; yields
    the time until which to wait for other processes' requests."""
    until = time.monotonic() + BUSY_SECONDS
    lock = parts.writing.setdefault(f"{upload}/{index}", asyncio.Lock())
    try:
        async with asyncio.timeout(BUSY_SECONDS):
            await lock.acquire()
    except TimeoutError:
        yield until
        return
    try:
        yield until
    finally:
        lock.release()


async def _open_when_free(
    parts: Parts, upload: str, index: int, offset: int, until: float
) -> Receiving:
    while True:
        try:
            work = partial(_open, parts, upload, index, offset)
            return await to_thread.run_sync(work, limiter=parts.receiving)
        except FileBusyError:
            if time.monotonic() > until:
                raise
        await asyncio.sleep(BUSY_PAUSE_SECONDS)


def _open(parts: Parts, upload: str, index: int, offset: int) -> Receiving:
    try:
        return parts.jobs.uploads.open_file(upload, index, offset)
    except UploadOverError as error:
        # The upload is finished, so the whole file arrived and the offset is its end.
        size = parts.jobs.uploads.get(upload).files[index].size
        raise OffsetError(error.what, size) from error


async def _write_body(request: Request, file: Receiving, threads: CapacityLimiter) -> None:
    """Writes the body as it arrives; if the client disconnects, the bytes so far are written."""

    def write_last() -> None:
        file.write(bytes(pending))
        file.flush()

    pending = bytearray()
    written = time.monotonic()
    try:
        async for chunk in request.stream():
            pending += chunk
            if len(pending) >= WRITE_BYTES or time.monotonic() - written > WRITE_SECONDS:
                await to_thread.run_sync(file.write, bytes(pending), limiter=threads)
                pending.clear()
                written = time.monotonic()
    except ClientDisconnect:
        await to_thread.run_sync(write_last, limiter=threads)
        raise
    await to_thread.run_sync(write_last, limiter=threads)


@api.post("/{upload}/finish", summary="Finish an upload", **starts(404, 409, 422))
def finish_upload(parts: Shared, upload: UploadId) -> Response:
    """Starts the job that reads the upload. Finishing again returns the same job."""
    return started(parts.jobs.uploads.finish(upload))
