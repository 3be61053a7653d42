"""Writes a file that opens on a page: `python -m inductorscope_server.export ADDRESS FILE`.

It asks the application, in this process, as the owner of the data folder, or as the one for whom
the web process exports.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import httpx
import msgspec
from inductorscope import urls
from inductorscope.processes.programs import EXPORTS_FOR, NO_PAGE
from inductorscope.settings import load
from inductorscope.store.tables.models import Run
from inductorscope.store.who import OWNER, VIEWER, WHO, Who
from inductorscope.units import plural, size_in_bytes
from starlette.types import ASGIApp, Receive, Scope, Send

from inductorscope_server.export.file import Inside, pack_files, write_file
from inductorscope_server.export.gather import BESIDE, LOCATION, Answer, Gatherer
from inductorscope_server.web.app import create_app

ADDRESS = re.compile(r"/runs/(?P<run>\w+)(?:/graphs/(?P<graph>[^/?]+)(?P<part>[/?].*)?)?")
REDIRECTS = 3
OTHER_RUN = "so that a server reads it as a run with another id"


@dataclass(slots=True)
class Gathered:
    """What a file shows."""

    start: str
    """The address that it opens on."""
    run: str
    """The run whose files belong in it, if it shows the whole run."""
    answers: dict[str, Answer]


async def gather(app: ASGIApp, who: Who, address: str, graph: str, explorer: bool) -> Gathered:
    """Raises LookupError for an address without a page."""

    async def asked(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, WHO: who}, receive, send)

    transport = httpx.ASGITransport(asked)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:

        async def ask(address: str) -> Answer | None:
            answer = await client.get(address)
            if answer.is_redirect:
                return Answer(LOCATION, answer.headers["location"].encode())
            if answer.status_code != httpx.codes.OK:
                return None
            return Answer(answer.headers["content-type"], answer.content)

        for _ in range(REDIRECTS):
            page = await ask(address)
            if page is None:
                raise LookupError(f"There is no page {address}.")
            if page.type == LOCATION:
                address = page.body.decode()
        path = address.partition("?")[0]
        named = ADDRESS.match(address)
        if named is None:
            gatherer = Gatherer(ask, () if explorer else (BESIDE,))
            await gatherer.gather([address])
            return Gathered(address, "", gatherer.answers)
        run, slug = named["run"], named["graph"]
        if slug:
            one = urls.graph(run, slug)
            gatherer = Gatherer(ask, () if explorer or named["part"] else (one,))
            await gatherer.gather([one, path])
            return Gathered(address, "", gatherer.answers)
        graphs = (await client.get(urls.api(urls.run(run)))).json()["graphs"]
        shown = [urls.graph(run, each["slug"]) for each in graphs if graph in ("", each["slug"])]
        if (graph or explorer) and not shown:
            raise LookupError(f"The run has no graph {graph or 'to show'}.")
        gatherer = Gatherer(ask, () if explorer else (urls.run(run),), graph)
        await gatherer.gather(shown if explorer else [*shown, urls.run(run), address])
        part = bool(graph or explorer)
        return Gathered(shown[0] if part else address, "" if part else run, gatherer.answers)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("address")
    parser.add_argument("file", type=Path)
    parser.add_argument("--graph", default="")
    parser.add_argument("--only", default="", choices=["", "explorer"])
    parser.add_argument("--without-traces", action="store_true")
    parser.add_argument("--redacted", default="", help="what was redacted, in words")
    asked = parser.parse_args()
    # Whoever can read the data folder needs no token for it.
    settings = replace(load(), token="", accounts=False, oidc_issuer="", proxy_header="")
    viewer = os.environ.get(EXPORTS_FOR, "")
    who = msgspec.json.decode(viewer, type=Who) if viewer else OWNER
    VIEWER.set(who)
    app = create_app(settings)
    parts = app.state.parts
    notes, inside = [asked.redacted] if asked.redacted else [], Inside()
    try:
        found = asyncio.run(gather(app, who, asked.address, asked.graph, asked.only != ""))
        with tempfile.TemporaryFile() as files, asked.file.open("wb") as out:
            if not found.run:
                notes.append("This file shows a part of a run and does not go back into a server.")
            else:
                with parts.read() as session:
                    run = session.get_one(Run, found.run)
                    traces = not asked.without_traces
                    same = pack_files(session, run, files, inside, traces=traces)
                if not traces:
                    notes.append(f"The run's profiler traces are left out, {OTHER_RUN}.")
                elif not same:
                    notes.append(
                        "Secrets were removed from this run's files, or some were too large to "
                        f"keep, {OTHER_RUN}."
                    )
                files.seek(0)
            loader = (parts.pages.assets.folder / "file.js").read_bytes().strip()
            write_file(out, found.start, " ".join(notes), found.answers, loader, files)
        kinds = sorted({kind for kind, _ in inside})
        pages = sum(answer.type.startswith("text/html") for answer in found.answers.values())
        print(f"{plural(pages, 'page')}, {size_in_bytes(asked.file.stat().st_size)}.", *notes)
        for kind in kinds:
            count, size = inside[kind, "files"], inside[kind, "bytes"]
            print(f"  {kind}: {plural(count, 'file')}, {size_in_bytes(size)}")
    except LookupError as error:
        print(error, file=sys.stderr)
        return NO_PAGE
    finally:
        parts.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
