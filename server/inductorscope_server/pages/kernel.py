"""Kernel: its source, nodes, calls and time."""

from __future__ import annotations

from fastapi import APIRouter
from inductorscope.store.queries.kernel import kernel_page as query
from starlette.requests import Request
from starlette.responses import Response

from .. import openapi
from ..errors import NotHere, documented
from ..ids import KernelKey, RunId, Slug
from ..parts import Reading, Shared
from ..shapes.kernel import KernelPage

html = APIRouter()
twin = APIRouter(tags=[openapi.GRAPHS])

PATH = "/runs/{run}/graphs/{slug}/kernels/{kernel}"


def load(session: Reading, run: str, slug: str, kernel: str) -> KernelPage:
    name, _, handle = kernel.rpartition(":")
    found = query(session, run, slug, name, int(handle))
    if found is None:
        raise NotHere(
            f"Graph {slug} of run {run} has no call {handle} of a kernel {name}.",
            f"Its kernels are listed at /runs/{run}.",
        )
    return KernelPage.model_validate(found)


@twin.get(PATH, summary="A kernel and one of its calls", responses=documented(404))
def get_kernel(session: Reading, run: RunId, slug: Slug, kernel: KernelKey) -> KernelPage:
    return load(session, run, slug, kernel)


@html.get(PATH)
def kernel_page(
    request: Request, parts: Shared, session: Reading, run: RunId, slug: Slug, kernel: KernelKey
) -> Response:
    return parts.pages.render(request, "kernel.html", load(session, run, slug, kernel))
