"""The pictures in the documentation.

They are written to the folder that INDUCTORSCOPE_SCREENSHOTS names. Without it, only the explorer's
are taken, and the addresses of the others are checked; `test_pages.py` opens those pages.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from inductorscope.cli.local import read_paths
from inductorscope.settings import Settings
from playwright.sync_api import Browser, expect

from tests.support.chromium import Scheme
from tests.support.explorer import Explorer
from tests.support.pages import parts_of
from tests.support.places import FIXTURES, ROOT, SHARED
from tests.support.serving import Served, serve

INTO = os.environ.get("INDUCTORSCOPE_SCREENSHOTS")
TOUR = {
    "runs": "/",
    "overview": "/runs/{run}",
    "picture": "/runs/{run}/graphs/{slug}?panes=picture,kernel",
    "side-by-side": "/beside?left={run}/{slug}/post_grad&right={run}/{slug}/readable",
    "compare": "/compare/{other}/{run}",
    "time": "/runs/{run}/time",
    "timeline": "/runs/{run}/timeline",
    "roofline": "/runs/{run}/roofline",
    "kernel": "/runs/{run}/graphs/{slug}/kernels/{kernel}",
    "memory": "/runs/{run}/graphs/{slug}/memory",
    "compiling": "/runs/{story}/compile",
    "fusing": "/runs/{run}/compile/fusing",
    "failures": "/runs/{failed}/failures",
    "log": "/runs/{run}/log",
    "read": "/runs/{run}/read",
    "search": "/search?q=tl.load",
    "capture": "/capture",
}
"""Pictures of the tour beside the explorer's, and the pages that they show."""


@pytest.fixture(scope="module")
def toured(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Served, dict[str, str]]]:
    """Runs to take pictures of: of larger models where the further traces are here."""
    traces = SHARED / "traces"
    if not INTO or not traces.is_dir():
        yield request.getfixturevalue("filled")
        return
    data = tmp_path_factory.mktemp("toured") / "data"
    settings = Settings(data=data, database_url="")
    failed, story, other, run = (
        read_paths(
            settings, [folder], name=folder.name, tags=[], origin="ingest", progress=lambda *_: None
        ).run_id
        for folder in (
            FIXTURES / "neg-does-not-compile",
            traces / "cuda-dynamic",
            traces / "cuda-gpt-max-autotune",
            traces / "cuda-gpt-train",
        )
    )  # fmt: skip
    with serve(data, "--workers", "0") as served:
        others = {"story": story, "failed": failed, "other": other}
        yield served, others | parts_of(served, run)


def test_pages_of_the_tour(
    request: pytest.FixtureRequest, toured: tuple[Served, dict[str, str]]
) -> None:
    served, where = toured
    for name, path in TOUR.items():
        address = served.url + path.format(**where)
        assert httpx.get(address, timeout=30, follow_redirects=True).status_code == 200, name
        if INTO:
            chromium: Browser = request.getfixturevalue("chromium")
            page = chromium.new_page(color_scheme="light", viewport={"width": 1280, "height": 800})
            page.goto(address)
            page.wait_for_load_state("networkidle")
            page.screenshot(path=Path(INTO) / f"{name}.png")
            page.close()


def test_the_tour_shows_every_picture() -> None:
    tour = (ROOT / "docs" / "tour.md").read_text()
    shown = set(re.findall(r"\(screenshots/([\w-]+)\.png\)", tour))
    assert shown == {"explorer", *TOUR}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_explorer(chromium: Browser, tutorial: Served, scheme: Scheme, tmp_path: Path) -> None:
    into = Path(INTO or tmp_path)
    context = chromium.new_context(color_scheme=scheme, viewport={"width": 1440, "height": 860})
    page = context.new_page()
    page.goto(tutorial.url)
    run = page.locator("[data-testid=runs-table] a", has_text="neg-maximum-cat").first
    expect(run).to_be_visible(timeout=240_000)
    run.click()
    page.locator("a[href*='/graphs/']").first.click()
    explorer = Explorer(page)
    explorer.click_line("post_grad", "torch.ops.aten.neg.default(arg0_1)")
    explorer.expect_lit("source", ["a = torch.neg(x1)"])
    name = "explorer.png" if scheme == "light" else "explorer-dark.png"
    into.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=into / name)
    assert (into / name).stat().st_size > 20_000
    context.close()
