"""The first promise: the run that a fresh clone captures by itself, and its links of lines."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.explorer import Explorer
from tests.support.serving import Served


@pytest.fixture(scope="module")
def run_url(tutorial: Served, chromium: Browser) -> str:
    """The tutorial's run, found as a person would: on the runs page."""
    page = chromium.new_page()
    page.goto(tutorial.url)
    row = page.locator("[data-testid=runs-table] a", has_text="neg-maximum-cat").first
    url = row.get_attribute("href")
    page.close()
    assert url
    return tutorial.url + url


def open_graph(page: Page, run_url: str) -> Explorer:
    page.goto(run_url)
    page.locator("a[href*='/graphs/']").first.click()
    page.goto(page.url.split("?")[0] + "?panes=source,post_grad,ir_post,kernel")
    return Explorer(page)


def test_the_fx_line_of_neg_lights_source_ir_and_kernel(page: Page, run_url: str) -> None:
    explorer = open_graph(page, run_url)
    explorer.click_line("post_grad", "torch.ops.aten.neg.default(arg0_1)")

    kernel, ir = explorer.lit("kernel"), explorer.lit("ir_post")
    assert "auto tmp2 = tmp1.neg();" in kernel
    assert not [line for line in kernel if "max_propagate" in line or "at::vec::maximum" in line]
    # What neg reads is loaded for neg.
    assert ir == ["load_1 = ops.load('arg0_1', get_index_1)", "neg = ops.neg(load_1)"]
    assert explorer.lit("source") == ["a = torch.neg(x1)"]
    expect(page.locator("#status")).to_contain_text("neg")


def test_the_address_bar_opens_the_same_selection_in_another_browser(
    page: Page, run_url: str, chromium: Browser
) -> None:
    explorer = open_graph(page, run_url)
    explorer.click_line("post_grad", "torch.ops.aten.neg.default(arg0_1)")
    page.wait_for_url(re.compile(r"[?&]sel="))
    lit = {stage: explorer.lit(stage) for stage in ("source", "post_grad", "ir_post", "kernel")}

    elsewhere = chromium.new_context(viewport={"width": 1440, "height": 900})
    other = elsewhere.new_page()
    other.goto(page.url)
    assert {stage: Explorer(other).lit(stage) for stage in lit} == lit
    elsewhere.close()


def test_back_and_forward_walk_through_selections(page: Page, run_url: str) -> None:
    explorer = open_graph(page, run_url)
    explorer.click_line("post_grad", "torch.ops.aten.neg.default(arg0_1)")
    explorer.click_line("post_grad", "torch.ops.aten.maximum.default")
    explorer.expect_lit("source", ["b = torch.maximum(x2, a)"])
    page.go_back()
    explorer.expect_lit("source", ["a = torch.neg(x1)"])
    page.go_forward()
    explorer.expect_lit("source", ["b = torch.maximum(x2, a)"])


def test_the_explorer_works_by_keyboard_alone(page: Page, run_url: str) -> None:
    """Tab to the FX pane, move to neg, pin it, step to its match, leave; no mouse."""
    page.goto(run_url)
    link = page.locator("a[href*='/graphs/']").first
    link.focus()
    page.keyboard.press("Enter")
    explorer = Explorer(page)
    explorer.focus_pane_by_keyboard("post_grad")
    for _ in range(60):
        if "aten.neg" in explorer.cursor_text("post_grad"):
            break
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    explorer.expect_lit("source", ["a = torch.neg(x1)"])
    page.keyboard.press("n")
    assert explorer.lit("kernel")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.keyboard.press("Escape")
    explorer.expect_lit("source", [])


def test_a_kernel_permalink_opens_the_kernel(page: Page, run_url: str) -> None:
    page.goto(run_url)
    page.get_by_test_id("kernels").get_by_role("link").first.click()
    expect(page.locator("body")).to_contain_text("tmp1.neg()")
    link = page.get_by_role("button", name="Copy permalink").get_attribute("data-copy")
    assert link
    assert "/k/" in link
    page.goto(link)
    expect(page.locator("body")).to_contain_text("neg")
