"""The pictures in the documentation.

They are written to the folder that INDUCTORSCOPE_SCREENSHOTS names; without it they are taken all
the same, and only checked for being pictures.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.support.chromium import Scheme
from tests.support.explorer import Explorer
from tests.support.serving import Served


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_explorer(chromium: Browser, tutorial: Served, scheme: Scheme, tmp_path: Path) -> None:
    into = Path(os.environ.get("INDUCTORSCOPE_SCREENSHOTS") or tmp_path)
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
