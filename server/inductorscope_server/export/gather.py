"""Gathers the pages of a run, and all that they load, by requests to the application itself.

So an export holds what the server shows, to whom it shows it: nothing here renders a page.
"""

from __future__ import annotations

import html
import json
import re
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import urlencode

from inductorscope import urls

EXPLORER = "explorer"
LOCATION = "location"
LEFT_OUT = ("log", "timeline", "files", "access", "state", "search", "export")
"""Pages of a run that are windows on more than a file should hold, or that need a server."""
MOST_PAGES = 300
"""Pages of a file. Kernels come after the pages that name them, so the most expensive are in."""
ADDRESS = re.compile(r'\b(href|src|data-[a-z-]{1,40})="(/[^"]*)"')
LOADED = re.compile(r"data-(explorer|links|nodes|heat|failures|layout)-url|src|data-shows")
"""Attributes with addresses that a page's scripts load."""
MODULE = re.compile(r"""["']\./((?:chunks/)?[\w.-]+\.js)["']""")
"""What a module of the bundle imports, at once or later."""
KEPT_QUERIES = re.compile(r"(profile|rank|attempt)=[^&]*")
"""States of pages that are pages to a reader; others are sorted or filtered tables."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the application answers at an address."""

    type: str
    """The media type; `LOCATION` if the body is the address that it leads to."""
    body: bytes


Ask = Callable[[str], Awaitable[Answer | None]]
"""Asks the application; None for what is not there."""


class Gatherer:
    """The pages of one export."""

    def __init__(self, ask: Ask, run: str, graph: str = "", only: str = "") -> None:
        self.answers: dict[str, Answer] = {}
        self._ask = ask
        self._run = run
        self._graph = graph
        self._only = only
        self._waiting: deque[str] = deque()
        self._seen: set[str] = set()

    async def gather(self, graphs: list[str]) -> None:
        """Gathers all pages, beginning with the explorer of each graph."""
        for slug in graphs:
            if self._graph in ("", slug):
                self._visit(urls.graph(self._run, slug))
        if self._only != EXPLORER:
            self._visit(urls.run(self._run))
        pages = 0
        while self._waiting and pages < MOST_PAGES:
            pages += await self._page(self._waiting.popleft())

    def _visit(self, address: str) -> None:
        """Notes a page to be gathered, if it belongs into the file."""
        path, _, query = address.partition("#")[0].partition("?")
        parts = path.removeprefix(urls.run(self._run)).split("/")[1:]
        if not f"{path}/".startswith(f"{urls.run(self._run)}/") or (parts and parts[0] in LEFT_OUT):
            return
        if parts[:1] == ["graphs"]:
            if self._graph and parts[1] != self._graph:
                return
            query = "" if len(parts) == 2 else query
        if path.endswith(".md") or (query and not KEPT_QUERIES.fullmatch(query)):
            return
        address = f"{path}?{query}" if query else path
        if address not in self._seen:
            self._seen.add(address)
            self._waiting.append(address)

    async def _page(self, address: str) -> bool:
        page = await self._load(address)
        if page is not None and page.type == LOCATION:
            self._visit(page.body.decode())
        if page is None or not page.type.startswith("text/html"):
            return False
        for name, written in ADDRESS.findall(page.body.decode()):
            target = html.unescape(written)
            if name == "href" and not target.startswith("/static/"):
                if self._only != EXPLORER:
                    self._visit(target)
            elif name == "href" or LOADED.fullmatch(name):
                await self._load(target)
        return True

    async def _load(self, address: str) -> Answer | None:
        """Gathers an answer, and what it names in turn."""
        address = address.partition("?v=")[0]  # of the bundle's files
        if address in self.answers:
            return None
        answer = await self._ask(address)
        if answer is None:
            return None
        self.answers[address] = answer
        if address.startswith("/static/") and address.endswith(".js"):
            for name in set(MODULE.findall(answer.body.decode())):
                await self._load(
                    f"/static/{name if name.startswith('chunks/') else f'chunks/{name}'}"
                )
        if address.endswith("/explorer") and address.startswith(urls.API):
            await self._texts(address, answer)
        return answer

    async def _texts(self, explorer: str, answer: Answer) -> None:
        """The texts of a graph's stages, and what was compiled of its kernels."""
        for stage in json.loads(answer.body)["stages"]:
            for file in stage["files"]:
                if file["kernel"] is None:
                    await self._load(urls.artifact_text(file["artifact"]))
                else:
                    query = urlencode({"kernel": file["kernel"], "stage": stage["id"]})
                    await self._load(f"{explorer.removesuffix('/explorer')}/machine?{query}")
