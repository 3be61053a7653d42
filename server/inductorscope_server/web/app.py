"""Creates the application from its parts, routes and guard."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache

from fastapi import APIRouter, Depends, FastAPI
from inductorscope import __version__, urls
from inductorscope.jobs.api import JobsClient
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine, sessions
from starlette.concurrency import run_in_threadpool
from starlette.middleware.gzip import DEFAULT_EXCLUDED_CONTENT_TYPES, GZipMiddleware
from starlette.routing import BaseRoute

from inductorscope_server.access import login
from inductorscope_server.access.identity import BehindProxies
from inductorscope_server.analysis.analysis import Analysis, Here
from inductorscope_server.api import artifacts, captures, graphs, health, uploads
from inductorscope_server.api import jobs as job_actions
from inductorscope_server.export import route as exports
from inductorscope_server.pages.table import ACTIONS, PAGES
from inductorscope_server.rendering.markdown import MarkdownPages
from inductorscope_server.rendering.templating import Pages
from inductorscope_server.serving.agents import Agents
from inductorscope_server.serving.playground import Playground
from inductorscope_server.serving.tracing import TELEMETRY, trace_queries
from inductorscope_server.web import docs, errors, openapi
from inductorscope_server.web.pages import add_page, check
from inductorscope_server.web.parts import Parts, in_turn
from inductorscope_server.web.security import Guard
from inductorscope_server.web.static import Bundle

log = logging.getLogger(__name__)

API = (uploads, captures, job_actions, artifacts, graphs)
"""Modules of the API that do not belong to a page."""
SENT_AS_THEY_ARE = (*DEFAULT_EXCLUDED_CONTENT_TYPES, "application/octet-stream")
"""Types that are not compressed: streams of events, and files to download, whose size is told."""
LEAST_COMPRESSED_BYTES = 1400
"""Smaller answers fit in one packet as they are."""


def create_app(settings: Settings, pages: Pages | None = None, *, alone: bool = False) -> FastAPI:
    """Creates the application; migrates the database first. `alone`: it has a single caller, so
    that no answer needs a process of its own."""
    engine = make_engine(settings)
    trace_queries(engine)
    read = sessions(engine, read_only=True, for_viewers=True)
    parts = Parts(
        settings=settings,
        engine=engine,
        read=read,
        write=sessions(engine),
        jobs=JobsClient(settings, engine, for_viewers=True),
        pages=pages or Pages(settings),
        analysis=Here(settings, read) if alone else Analysis(settings),
        playground=Playground(settings),
    )

    agents = Agents(parts)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield
        parts.stopping.set()
        await agents.close()
        await run_in_threadpool(parts.close)

    app = FastAPI(
        title="Inductorscope",
        version=__version__,
        description=openapi.DESCRIPTION,
        openapi_tags=openapi.TAGS,
        openapi_url=urls.api("/openapi.json"),
        docs_url=None,  # the usual documentation pages load scripts from other sites
        redoc_url=None,
        lifespan=lifespan,
        routes=_routes(),
        telemetry=TELEMETRY,
    )
    app.state.parts = parts
    errors.install(app)
    check(PAGES, parts.pages)
    parts.pages.set_pages(PAGES)
    openapi.install(app, settings)
    app.include_router(agents.router())
    app.mount("/static", Bundle(parts.pages.assets), name="static")
    app.add_middleware(
        GZipMiddleware,
        minimum_size=LEAST_COMPRESSED_BYTES,
        compresslevel=5,
        exclude_content_types=SENT_AS_THEY_ARE,
    )
    app.add_middleware(Guard, parts=parts)
    app.add_middleware(MarkdownPages, paths=[page.path for page in PAGES])
    app.add_middleware(BehindProxies, settings=settings)
    return app


@cache
def _routes() -> list[BaseRoute]:
    """Returns the routes of all applications of this process, since making them takes half a
    second."""
    routes = APIRouter(
        generate_unique_id_function=lambda route: route.name,
        responses=errors.documented(400, 401, 421, 503),
    )
    turn = [Depends(in_turn, scope="function")]
    for page in PAGES:
        add_page(routes, page, turn)
    html = APIRouter(include_in_schema=False, dependencies=turn)
    api = APIRouter(prefix=urls.API, dependencies=turn)
    for actions in ACTIONS:
        html.include_router(actions.html)
        api.include_router(actions.api)
    for module in API:
        api.include_router(module.api)
    html.include_router(login.html)
    api.include_router(job_actions.streams)
    routes.include_router(api)
    # Without turns: they last as long as their clients, and do most of their work elsewhere.
    routes.include_router(uploads.files, prefix=urls.API)
    routes.include_router(exports.api, prefix=urls.API)
    routes.include_router(html)
    routes.include_router(docs.router((page.path, page.summary) for page in PAGES))
    routes.include_router(health.api)
    return routes.routes
