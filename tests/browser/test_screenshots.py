"""The pictures in the documentation, taken for the folder that INDUCTORSCOPE_SCREENSHOTS names.

Without it, only the list of them is checked: `test_pages.py` opens their pages.
"""

import os
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import pytest
from inductorscope.cli.local import read_paths
from inductorscope.jobs.work.relinking import relink_all
from inductorscope.settings import Settings
from inductorscope_server.pages.table import PAGES
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
PART = re.compile(r"{\w+}")


def toured(
    request: pytest.FixtureRequest, data: Path
) -> AbstractContextManager[tuple[Served, dict[str, str]]]:
    """Runs to take pictures of: of larger models where the further traces are here."""
    traces = SHARED / "traces"
    if not traces.is_dir():
        return nullcontext(request.getfixturevalue("filled"))
    return larger(data, traces)


@contextmanager
def larger(data: Path, traces: Path) -> Iterator[tuple[Served, dict[str, str]]]:
    failed, story, other, run = (
        read_paths(
            Settings(data=data, database_url=""), [folder], name=folder.name, tags=[],
            origin="ingest", progress=lambda *_: None,
        ).run_id
        for folder in (
            FIXTURES / "neg-does-not-compile",
            traces / "cuda-dynamic",
            traces / "cuda-gpt-max-autotune",
            traces / "cuda-gpt-train",
        )
    )  # fmt: skip
    relink_all(Settings(data=data, database_url=""))
    with serve(data, "--workers", "0") as served:
        others = {"story": story, "failed": failed, "other": other}
        yield served, others | parts_of(served, run)


def take_tour(chromium: Browser, served: Served, where: dict[str, str], into: Path) -> None:
    for name, path in TOUR.items():
        page = chromium.new_page(color_scheme="light", viewport={"width": 1280, "height": 800})
        page.goto(served.url + path.format(**where))
        page.wait_for_load_state("networkidle")
        page.screenshot(path=into / f"{name}.png")
        page.close()


def take_explorer(chromium: Browser, tutorial: Served, scheme: Scheme, file: Path) -> None:
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
    page.screenshot(path=file)
    context.close()


def test_the_tour_shows_every_picture(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    tour = (ROOT / "docs" / "tour.md").read_text()
    shown = set(re.findall(r"\(screenshots/([\w-]+)\.png\)", tour))
    assert shown == {"explorer", *TOUR}
    asked = {PART.sub("{}", path.partition("?")[0]) for path in TOUR.values()}
    assert asked <= {PART.sub("{}", page.path) for page in PAGES}
    if not INTO:
        return
    into = Path(INTO)
    into.mkdir(parents=True, exist_ok=True)
    chromium: Browser = request.getfixturevalue("chromium")
    tutorial: Served = request.getfixturevalue("tutorial")
    take_explorer(chromium, tutorial, "light", into / "explorer.png")
    take_explorer(chromium, tutorial, "dark", into / "explorer-dark.png")
    with toured(request, tmp_path / "data") as (served, where):
        take_tour(chromium, served, where, into)
