"""The addresses of all pages, from the table of pages."""

import httpx
from inductorscope_server.pages.table import PAGES

from tests.support.serving import Served

QUERIES = {
    "/beside": "?left={run}/{slug}/post_grad&right={run}/{slug}/readable",
    "/runs/{run}/compile/diff": "?a={artifact}&b={artifact}",
}
"""What some pages need besides their path."""
REDIRECTS = {page.path for page in PAGES if page.show or page.lead}
OPENED = tuple(
    page.path + QUERIES.get(page.path, "")
    for page in PAGES
    if page.path not in REDIRECTS
    and not page.template.startswith("fragments/")  # a part of another page
    and page.path not in ("/jobs/{job}", "/play/{run}")  # the fixtures have no job and no try
)
"""Addresses of pages that a fixture's run has; parts such as `{run}` are to be filled in."""


def parts_of(served: Served, run: str) -> dict[str, str]:
    """What addresses of a run's pages consist of: a graph, a kernel with code, a log."""
    api = f"{served.url}/api/runs/{run}"
    slug = httpx.get(api, timeout=30).json()["graphs"][0]["slug"]
    kernels = httpx.get(f"{api}/graphs/{slug}/explorer", timeout=30).json()["kernels"]
    kernel = next(row for row in kernels if row["first"] is not None)
    files = httpx.get(f"{api}/read", timeout=30).json()["files"]
    return {
        "run": run,
        "slug": slug,
        "kernel": f"{kernel['name']}:{kernel['calls'][0]['handle']}",
        "artifact": next(str(file["artifact"]) for file in files if file["role"] == "trace_log"),
    }
