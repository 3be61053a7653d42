"""Gathers the pages of a run, and all that they load, by requests to the application itself.

So an export holds exactly what the server shows to that person: nothing here renders a page.
"""

import asyncio
import html
import json
import re
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from itertools import islice
from urllib.parse import urlencode

import msgspec
from inductorscope import urls

BUNDLE = "/static/"
BESIDE = "/beside"
FREE = (BESIDE, urls.atlas())
"""Pages whose queries each show something else."""
LOCATION = "location"
LEFT_OUT = ("log", "timeline", "files", "access", "state", "search", "export")
"""Pages of a run that can show more than a file should hold, or that need a server."""
MOST_PAGES = 300
"""Most pages in a file. Kernels come after the pages that name them, so the most expensive ones are
included."""
AHEAD = 8
"""Pages that are asked for at the same time."""
ADDRESS = re.compile(r'\b(href|src|data-[a-z-]{1,40})="(/[^"]*)"')
LOADED = re.compile(r"data-(explorer|links|nodes|heat|failures)-url|src|data-shows")
"""Attributes with addresses that a page's scripts load."""
MODULE = re.compile(r"""["']\./((?:chunks/)?[\w.-]+\.js)["']""")
"""Matches what a module of the bundle imports, at once or later."""
EXPLORER = re.compile(r"/runs/[^/]+/graphs/[^/]+")
KEPT_QUERIES = re.compile(r"(profile|rank|attempt)=[^&]*")
"""Queries that show a page of its own; other queries only sort or filter tables."""


class Answer(msgspec.Struct, frozen=True):
    """The application's answer at an address."""

    type: str
    """The media type; `LOCATION` if the body is an address that the answer redirects to."""
    body: bytes


Ask = Callable[[str], Awaitable[Answer | None]]
"""Asks the application; returns None if there is nothing at the address."""


class Gatherer:
    """Gathers the pages of one export."""

    def __init__(self, ask: Ask, follow: Iterable[str], graph: str = "") -> None:
        """`follow`: links to addresses below these are followed; `graph`: leaves out the pages of
        other graphs."""
        self.answers: dict[str, Answer] = {}
        self._ask = ask
        self._follow = tuple(follow)
        self._graph = graph
        self._waiting: deque[str] = deque()
        self._seen: set[str] = set()
        self._asked: dict[str, Awaitable[Answer | None]] = {}

    async def gather(self, first: Iterable[str]) -> None:
        """Gathers these pages, and the pages that they link to."""
        for address in first:
            self._wait(address)
        pages = 0
        while self._waiting and pages < MOST_PAGES:
            for address in islice(self._waiting, AHEAD):
                if address not in self._asked:
                    self._asked[address] = asyncio.ensure_future(self._ask(address))
            pages += await self._page(self._waiting.popleft())

    def _visit(self, address: str) -> None:
        """Queues a page, if it belongs in the file."""
        path, _, query = address.partition("#")[0].partition("?")
        parts = path.split("/")[3:]
        if not any(f"{path}/".startswith(f"{folder}/") for folder in self._follow):
            return
        if parts and (parts[0] in LEFT_OUT or path.endswith(".md")):
            return
        if parts[:1] == ["graphs"] and self._graph not in ("", parts[1]):
            return
        if path in FREE or not query or EXPLORER.fullmatch(path) or KEPT_QUERIES.fullmatch(query):
            self._wait(address)

    def _wait(self, address: str) -> None:
        address = address.partition("#")[0]
        path = address.partition("?")[0]
        address = path if EXPLORER.fullmatch(path) else address
        if address not in self._seen:
            self._seen.add(address)
            self._waiting.append(address)

    async def _page(self, address: str) -> bool:
        page = await self._load(address)
        if page is not None and page.type == LOCATION:
            self._visit(page.body.decode())
        if page is None or not page.type.startswith("text/html"):
            return False
        for name, written in dict.fromkeys(ADDRESS.findall(page.body.decode())):
            target = html.unescape(written)
            if name == "href" and not target.startswith(BUNDLE):
                self._visit(target)
            elif name == "href" or LOADED.fullmatch(name):
                await self._load(target)
        return True

    async def _load(self, address: str) -> Answer | None:
        """Gathers an answer, and what it loads in turn."""
        address = address.partition("?v=")[0]  # files of the bundle have a version
        if address in self.answers:
            return None
        answer = await (self._asked.get(address) or self._ask(address))
        if answer is None:
            return None
        self.answers[address] = answer
        if address.startswith(BUNDLE) and address.endswith(".js"):
            for name in set(MODULE.findall(answer.body.decode())):
                await self._load(
                    f"{BUNDLE}{name if name.startswith('chunks/') else f'chunks/{name}'}"
                )
        if address.endswith("/explorer") and address.startswith(urls.API):
            await self._texts(address, answer)
        return answer

    async def _texts(self, explorer: str, answer: Answer) -> None:
        """Gathers the texts of a graph's stages, and what its kernels were compiled to."""
        for stage in json.loads(answer.body)["stages"]:
            for file in stage["files"]:
                if file["kernel"] is None:
                    await self._load(urls.artifact_text(file["artifact"]))
                else:
                    query = urlencode({"kernel": file["kernel"], "stage": stage["id"]})
                    await self._load(f"{explorer.removesuffix('/explorer')}/machine?{query}")
