"""The addresses of all pages, from the table of pages."""

from __future__ import annotations

from inductorscope_server.pages.table import PAGES

QUERIES = {
    "/beside": "?left={run}/{slug}/post_grad&right={run}/{slug}/readable",
    "/runs/{run}/compile/diff": "?a={artifact}&b={artifact}",
}
"""What some pages need besides their path."""
REDIRECTS = {page.path for page in PAGES if page.show is not None}
OPENED = tuple(
    page.path + QUERIES.get(page.path, "")
    for page in PAGES
    if page.path not in REDIRECTS and page.path != "/jobs/{job}"  # the fixtures have no job
)
"""Addresses of pages that a fixture's run has; parts such as `{run}` are to be filled in."""
