"""Exports a page and all that belongs to it, by requests to the application in this process."""

import asyncio
import re
import tempfile
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from os import getpid
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlsplit

import httpx
import msgspec
from fastapi import FastAPI
from inductorscope import urls
from inductorscope.answers.missing import NotHere
from inductorscope.processes.dying import die_with
from inductorscope.settings import Settings
from inductorscope.store.database.once import keep
from inductorscope.store.tables.models import Run
from inductorscope.store.who import VIEWER, WHO, Who
from inductorscope.survey.cells import cells_of, rows_of, survey_named
from inductorscope.survey.events import badge, events_of, feed
from inductorscope.units import plural, size_in_bytes
from sqlalchemy.orm import Session
from starlette.types import ASGIApp, Receive, Scope, Send

from inductorscope_server.export.file import Inside, pack_files, write_file
from inductorscope_server.export.gather import BESIDE, LOCATION, Answer, Gatherer
from inductorscope_server.web.app import create_app

ADDRESS = re.compile(r"/runs/(?P<run>\w+)(?:/graphs/(?P<graph>[^/?]+)(?P<part>[/?].*)?)?")
NOT_NAMING = re.compile(r"[^\w.-]+")
PROCESSES = 2
"""Processes that make pages."""
_own: list[tuple[asyncio.Runner, httpx.AsyncClient]] = []
"""The loop and the client of such a process."""
PART = "This file shows a part of a run and does not go back into a server."
OTHER_RUN = "so that a server reads it as a run with another id"
WITHOUT_TRACES = f"The run's profiler traces are left out, {OTHER_RUN}."
NOT_THE_SAME = (
    f"Secrets were removed from this run's files, or some were too large to keep, {OTHER_RUN}."
)


class Wanted(msgspec.Struct, frozen=True):
    """What a file should hold, in addition to its page."""

    graph: str = ""
    """The only graph of the run to include; empty for all."""
    explorer: bool = False
    """Whether to include only explorers."""
    traces: bool = True
    """Whether the run's files hold the profiler's traces."""
    note: str = ""
    """A note for the reader about what is shown."""


def export(settings: Settings, who: Who, address: str, file: Path, wanted: Wanted) -> str:
    """Writes the file of a page as this person sees it; returns in words what the file holds.
    Raises NotHere for an address without a page."""
    # A person who can read the data folder needs no token for it.
    open_to_all = replace(settings, token="", accounts=False, oidc_issuer="", proxy_header="")
    app = create_app(open_to_all, alone=True)
    keep(app.state.parts.read)
    try:
        given = app, who, getpid()
        with ProcessPoolExecutor(PROCESSES, get_context("fork"), _begin, given) as pool:
            pool.submit(int).result()  # forks while this process has no threads
            return export_from(app, who, address, file, wanted, pool)
    finally:
        app.state.parts.close()


def export_from(
    app: FastAPI, who: Who, address: str, file: Path, wanted: Wanted, pool: Executor | None = None
) -> str:
    """Like `export`, from an application that keeps running. `pool`: its processes ask."""
    VIEWER.set(who)
    parts = app.state.parts
    notes, inside = [wanted.note] if wanted.note else [], Inside()
    with tempfile.TemporaryFile() as files:

        def pack(run_id: str) -> bool:
            with parts.read() as session:
                run = session.get_one(Run, run_id)
                return pack_files(session, run, files, inside, traces=wanted.traces)

        start, answers, same = asyncio.run(_gather(app, who, address, wanted, pack, pool))
        if same is None:
            notes.append(PART)
        elif not same:
            notes.append(NOT_THE_SAME if wanted.traces else WITHOUT_TRACES)
        files.seek(0)
        loader = (parts.pages.assets.folder / "file.js").read_bytes().strip()
        with file.open("wb") as out:
            write_file(out, start, " ".join(notes), answers, loader, files)
    if start.startswith(urls.atlas()):
        name = dict(parse_qsl(urlsplit(start).query)).get("name", "")
        with parts.read() as session:
            notes.append(_publish(session, survey_named(session, name)[0], file))
    pages = sum(answer.type.startswith("text/html") for answer in answers.values())
    held = [" ".join([f"{plural(pages, 'page')}, {size_in_bytes(file.stat().st_size)}.", *notes])]
    for kind in sorted({kind for kind, _ in inside}):
        count, size = inside[kind, "files"], inside[kind, "bytes"]
        held.append(f"  {kind}: {plural(count, 'file')}, {size_in_bytes(size)}")
    return "\n".join(held)


def _client(app: ASGIApp, who: Who) -> httpx.AsyncClient:
    async def asked(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, WHO: who}, receive, send)

    return httpx.AsyncClient(
        transport=httpx.ASGITransport(asked),
        base_url="http://localhost",
        headers={"Accept-Encoding": "identity"},  # this response would only be unpacked again
    )


def _publish(session: Session, name: str, file: Path) -> str:
    """Writes the feed of a survey, and the badges of its programs, beside its file; says so."""
    cells, atom = cells_of(session, name), file.with_suffix(".atom")
    atom.write_text(feed(name, events_of(cells), f"{quote(file.name)}#"), "utf-8")
    for row in (rows := rows_of(cells)):
        named = NOT_NAMING.sub("-", "-".join((file.stem, *row)))[:200]
        file.with_name(f"{named}.svg").write_text(badge(cells, *row), "utf-8")
    return f"Beside it: {atom.name} and {plural(len(rows), 'badge')}."


async def _ask(client: httpx.AsyncClient, address: str) -> Answer | None:
    answer = await client.get(address)
    if answer.is_redirect:
        return Answer(LOCATION, answer.headers["location"].encode())
    if answer.status_code != httpx.codes.OK:
        return None
    return Answer(answer.headers["content-type"], answer.content)


def _begin(app: FastAPI, who: Who, parent: int) -> None:
    """Begins a process of the pool."""
    die_with(parent)
    app.state.parts.engine.dispose(close=False)
    _own[:] = [(asyncio.Runner(), _client(app, who))]


def _answer(address: str) -> Answer | None:
    ((runner, client),) = _own
    return runner.run(_ask(client, address))


async def _gather(
    app: ASGIApp,
    who: Who,
    address: str,
    wanted: Wanted,
    pack: Callable[[str], bool],
    pool: Executor | None,
) -> tuple[str, dict[str, Answer], bool | None]:
    """Returns the address that the file opens on, its answers, and what `pack` returned of the
    whole run, whose files it packs at the same time; None for a part of a run."""
    loop = asyncio.get_running_loop()
    async with _client(app, who) as client:

        def ask(address: str) -> Awaitable[Answer | None]:
            return loop.run_in_executor(pool, _answer, address) if pool else _ask(client, address)

        page = await client.get(address, follow_redirects=True)
        if page.status_code != httpx.codes.OK:
            raise NotHere(f"There is no page {address}.")
        address = page.url.raw_path.decode()
        whole, first, follow = "", [address], [BESIDE]
        if address.startswith(urls.atlas()):
            follow = [urls.atlas(), urls.compare()]
        named = ADDRESS.match(address)
        if named and named["graph"]:
            one = urls.graph(named["run"], named["graph"])
            first, follow = [one, address.partition("?")[0]], [] if named["part"] else [one]
        elif named:
            page_of_run = urls.run(named["run"])
            graphs = (await client.get(urls.api(page_of_run))).json()["graphs"]
            shown = [urls.graph(named["run"], graph["slug"]) for graph in graphs
                     if wanted.graph in ("", graph["slug"])]  # fmt: skip
            first, follow = [*shown, page_of_run, address], [page_of_run]
            if not (wanted.graph or wanted.explorer):
                whole = named["run"]
            elif shown:
                address, first = shown[0], shown if wanted.explorer else first
            else:
                raise NotHere(f"The run has no graph {wanted.graph or 'to show'}.")
        gatherer = Gatherer(ask, () if wanted.explorer else follow, wanted.graph)
        packing = asyncio.create_task(asyncio.to_thread(pack, whole)) if whole else None
        await gatherer.gather(first)
        return address, gatherer.answers, await packing if packing else None
