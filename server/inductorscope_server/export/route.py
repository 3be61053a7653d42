"""Serves exports to download; each is made by `inductorscope export` in a process with limits."""

import asyncio
import os
import signal
import tempfile
from asyncio.subprocess import PIPE
from collections.abc import Generator
from pathlib import Path
from typing import Annotated, BinaryIO

import msgspec
from fastapi import APIRouter, Query
from inductorscope import urls
from inductorscope.answers.missing import NotHere
from inductorscope.formats.sizes import MIB
from inductorscope.jobs.queue.processes import environment
from inductorscope.processes.programs import EXPORTS_FOR, NO_PAGE, program
from inductorscope.store.who import Who
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from inductorscope_server.access.rules import READS_FILES, who_of
from inductorscope_server.api.bodies import ExportOptions
from inductorscope_server.serving.downloads import Download
from inductorscope_server.serving.turns import whose_turn
from inductorscope_server.web import openapi
from inductorscope_server.web.errors import Refusal
from inductorscope_server.web.ids import RunId
from inductorscope_server.web.parts import Parts, Shared

SECONDS = 600

api = APIRouter(tags=[openapi.RUNS], dependencies=[READS_FILES])


Chosen = Annotated[ExportOptions, Query()]


@api.get(
    f"{urls.RUN}/export",
    summary="A run as one HTML file",
    **openapi.answers(openapi.BYTES, 404, 422, 503),
)
async def export_run(request: Request, parts: Shared, run: RunId, options: Chosen) -> Response:
    """Returns the run with its files, or what one page of its graphs shows, as an HTML file to
    download. It opens in a browser without a server."""
    page = options.page or urls.run(run)
    if not f"{page.partition('?')[0]}/".startswith(f"{urls.run(run)}/"):
        raise NotHere(f"{page} is no page of this run.")
    return await _export(parts, who_of(request), page, options, f"{run}.html")


@api.get(
    "/compare/{run}/{other}/export",
    summary="A comparison as one HTML file",
    **openapi.answers(openapi.BYTES, 404, 422, 503),
)
async def export_comparison(
    request: Request, parts: Shared, run: RunId, other: RunId, options: Chosen
) -> Response:
    """Returns the comparison, and the side-by-side texts that it links to, as an HTML file to
    download."""
    page = urls.compare(run, other)
    return await _export(parts, who_of(request), page, options, f"{run}-{other}.html")


async def _export(parts: Parts, who: Who, page: str, options: ExportOptions, name: str) -> Response:
    with tempfile.TemporaryDirectory(prefix="export-", dir=parts.settings.data) as folder:
        made = Path(folder, name)
        chosen = [
            *(["--preview"] if options.preview else ["-o", str(made)]),
            f"--only={options.only}",
            *(["--without-traces"] if options.without_traces else []),
            *(["--redact"] if options.redact else []),
            *(f"--keep={path.strip()}" for path in options.keep.split(",") if path.strip()),
            *(f"--hide={word.strip()}" for word in options.hide.split(",") if word.strip()),
        ]
        viewer = {EXPORTS_FOR: msgspec.json.encode(who).decode(), "TMPDIR": folder}
        async with parts.exports.turn(whose_turn()):
            said = await _run(
                program("inductorscope", "export", page, *chosen),
                environment(parts.settings, **viewer),
            )
        if options.preview:
            return PlainTextResponse(said)
        size, file = made.stat().st_size, made.open("rb")
    return Download(
        _pieces(file),
        {
            "Content-Type": "application/octet-stream",
            "Content-Disposition": f'attachment; filename="{name}"',
            "Content-Length": str(size),
        },
    )


async def _run(command: list[str], variables: dict[str, str]) -> str:
    process = await asyncio.create_subprocess_exec(
        *command, stdout=PIPE, stderr=PIPE, env=variables, start_new_session=True
    )
    try:
        said, complained = await asyncio.wait_for(process.communicate(), SECONDS)
    except TimeoutError:
        what = f"Exporting takes longer than {SECONDS} seconds."
        raise Refusal(503, what, do="Run `inductorscope export` on the server.") from None
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    if process.returncode == NO_PAGE:
        raise NotHere(complained.decode(errors="replace").partition("\n")[0])
    if process.returncode:
        raise Refusal(503, complained.decode(errors="replace").strip()[-2000:] or "It failed.")
    return said.decode(errors="replace")


def _pieces(file: BinaryIO) -> Generator[bytes]:
    with file:
        while piece := file.read(MIB):
            yield piece
