"""Writes a run as one HTML file: `python -m inductorscope_server.export RUN FILE`.

It asks the application, in this process, as the owner of the data folder.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import httpx
from inductorscope import urls
from inductorscope.settings import load
from inductorscope.store.tables.models import Run
from starlette.types import ASGIApp

from inductorscope_server.export.file import pack_files, write_file
from inductorscope_server.export.gather import EXPLORER, LOCATION, Answer, Gatherer
from inductorscope_server.web.app import create_app


async def gather(app: ASGIApp, run: str, graph: str, only: str) -> tuple[str, dict[str, Answer]]:
    """The address to open on, and all answers."""
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:

        async def ask(address: str) -> Answer | None:
            answer = await client.get(address)
            if answer.is_redirect:
                return Answer(LOCATION, answer.headers["location"].encode())
            if answer.status_code != httpx.codes.OK:
                return None
            return Answer(answer.headers["content-type"], answer.content)

        gatherer = Gatherer(ask, run, graph, only)
        found = (await client.get(urls.api(urls.run(run)))).json()
        slugs = [each["slug"] for each in found["graphs"]]
        await gatherer.gather(slugs)
    start = urls.graph(run, graph or slugs[0]) if slugs and (graph or only) else urls.run(run)
    return start, gatherer.answers


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("run")
    parser.add_argument("file", type=Path)
    parser.add_argument("--graph", default="")
    parser.add_argument("--only", default="", choices=["", EXPLORER])
    asked = parser.parse_args()
    # Whoever can read the data folder needs no token for it.
    settings = replace(load(), token="", accounts=False, oidc_issuer="", proxy_header="")
    app = create_app(settings)
    parts = app.state.parts
    try:
        start, answers = asyncio.run(gather(app, asked.run, asked.graph, asked.only))
        if start not in answers:
            print(f"The run has no graph {asked.graph or 'to show'}.", file=sys.stderr)
            return 1
        loader = (parts.pages.assets.folder / "file.js").read_bytes().strip()
        with tempfile.TemporaryFile() as files, asked.file.open("wb") as out:
            same = None
            if not asked.graph and not asked.only:
                with parts.write() as session:
                    same = pack_files(session, session.get_one(Run, asked.run), files)
                files.seek(0)
            write_file(out, asked.run, start, answers, loader, files)
        pages = sum(answer.type.startswith("text/html") for answer in answers.values())
        json.dump({"pages": pages, "bytes": asked.file.stat().st_size, "same": same}, sys.stdout)
    finally:
        parts.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
