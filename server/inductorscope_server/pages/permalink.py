"""Permalinks: short addresses of kernel calls, made from content, good on every server."""

from __future__ import annotations

from fastapi import APIRouter
from inductorscope.answers.explorer.kernel import kernel_by_permalink
from starlette.requests import Request
from starlette.responses import RedirectResponse

from inductorscope_server.shapes.kernel import PermalinkAnswer
from inductorscope_server.web import openapi, urls
from inductorscope_server.web.errors import NotHere, documented
from inductorscope_server.web.ids import Permalink
from inductorscope_server.web.parts import Reading

html = APIRouter()
twin = APIRouter(tags=[openapi.GRAPHS])


def load(session: Reading, link: str) -> PermalinkAnswer:
    """The newest run that holds the call; the others beside it."""
    found = kernel_by_permalink(session, link)
    if not found:
        raise NotHere(
            f"No run here holds the kernel that {link} names.",
            "Links are made from content: upload the run it was made of, and it works.",
        )
    newest, *others = found
    url = urls.kernel_in_explorer(newest.run.id, newest.graph.slug, newest.name, newest.handle)
    return PermalinkAnswer.model_validate(
        {
            "permalink": link,
            "run": newest.run,
            "graph": newest.graph,
            "name": newest.name,
            "handle": newest.handle,
            "url": url,
            "elsewhere": others,
        }
    )


@twin.get("/k/{permalink}", summary="Where a permalink leads", responses=documented(404))
def get_permalink(session: Reading, permalink: Permalink) -> PermalinkAnswer:
    return load(session, permalink)


@html.get("/k/{permalink}")
def follow(request: Request, session: Reading, permalink: Permalink) -> RedirectResponse:
    """To the explorer with the kernel, and with what else the link selects."""
    url = load(session, permalink).url
    kept = request.url.query
    return RedirectResponse(f"{url}&{kept}" if kept else url, 302)
