"""The Model Context Protocol at `/mcp`, for coding agents: over HTTP, without sessions.

Every tool's answer is computed in a child process with limits, like the pages'.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import TYPE_CHECKING

from fastapi import APIRouter
from inductorscope import urls
from inductorscope.analyze.judging.verdict import verdict_lines
from inductorscope.errors import InWords
from inductorscope.formats.change import Change
from inductorscope.store.who import RUN, VIEWER
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from inductorscope_server.access.rules import READS
from inductorscope_server.serving.judging import judged
from inductorscope_server.web.errors import Refusal
from inductorscope_server.web.parts import Parts

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

BASE: ContextVar[str] = ContextVar("base", default="")
"""The address at which the agent reaches this server."""
MISSING = "This server does not serve agents: the package mcp is not installed."


class _Handled(Response):
    """A response that the protocol's library sends."""

    def __init__(self, manager: StreamableHTTPSessionManager) -> None:
        super().__init__()
        self._manager = manager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._manager.handle_request(scope, receive, send)


class Agents:
    """Answers agents. The protocol's server starts with the first request, since its imports take a
    second."""

    def __init__(self, parts: Parts) -> None:
        self._analysis = parts.analysis
        self._parts = parts
        self._starting: asyncio.Task[StreamableHTTPSessionManager] | None = None
        self._running: asyncio.Task[None] | None = None

    def router(self) -> APIRouter:
        added = APIRouter(include_in_schema=False)
        added.add_api_route(
            urls.mcp(), self._answer, methods=["POST"], response_model=None, dependencies=[READS]
        )
        return added

    async def _answer(self, request: Request) -> Response:
        if self._starting is None:
            self._starting = asyncio.create_task(self._start())
        try:
            manager = await asyncio.shield(self._starting)
        except ModuleNotFoundError as error:
            do = "Its owner can add it: pip install 'inductorscope[mcp]'."
            raise Refusal(501, MISSING, do=do) from error
        BASE.set(str(request.base_url).rstrip("/"))
        return _Handled(manager)

    async def close(self) -> None:
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait([self._running])

    async def _start(self) -> StreamableHTTPSessionManager:
        manager = await asyncio.to_thread(self._manager)
        started = asyncio.Event()
        self._running = asyncio.create_task(_run(manager, started))
        await started.wait()
        return manager

    def _manager(self) -> StreamableHTTPSessionManager:
        from inductorscope.agents.protocol import add_judge, add_trials, create
        from mcp.server.transport_security import TransportSecuritySettings

        server = create(self._analysis, BASE.get, (Refusal,))
        if self._parts.settings.agents_try:
            add_trials(server, self._propose, BASE.get)
        if self._parts.settings.agents_submit:
            add_judge(server, self._submit, (Refusal,))
        # `Guard` checks hosts and origins.
        unguarded = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        server.streamable_http_app(
            json_response=True, stateless_http=True, transport_security=unguarded
        )
        return server.session_manager

    async def _propose(self, run: str, change: Change) -> str:
        _may_run()
        await run_in_threadpool(self._parts.jobs.programs.try_change, run, change.title, change)
        return urls.trials(run)

    async def _submit(self, kernel: str, text: str) -> str:
        _may_run()
        run, _, rest = kernel.partition("/")
        slug, _, called = rest.rpartition("/")
        name, _, handle = called.rpartition(":")
        if not slug or not handle.isdecimal():
            raise InWords("`kernel` is RUN/GRAPH/KERNEL:CALL, with the run's whole id.")
        call, why = (name, int(handle)), "comes from an agent"
        attempt = await judged(self._parts, run, slug, call, text, why=why)
        page = urls.kernel(run, slug, *call, "edit", attempt=attempt.id)
        return "\n".join([*verdict_lines(attempt.verdict), f"{BASE.get()}{page}"])


def _may_run() -> None:
    viewer = VIEWER.get()
    if viewer is None or not viewer.may(RUN):
        raise InWords("Your token may not run code.")


async def _run(manager: StreamableHTTPSessionManager, started: asyncio.Event) -> None:
    async with manager.run():
        started.set()
        await asyncio.Event().wait()
