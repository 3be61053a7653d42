"""How the explorer opens, and what it remembers of the reader's choices."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.support.explorer import Explorer
from tests.support.serving import Served

ADDRESS = "a[href*='/graphs/']"


def graph_of(page: Page, served: Served) -> str:
    """The address of a run's graph."""
    page.goto(served.url)
    page.locator("[data-testid=runs-table] a", has_text="cuda-foo1").first.click()
    link = page.locator(ADDRESS).first.get_attribute("href")
    assert link
    return served.url + link.split("?")[0]


def shows_four_panes(page: Page) -> None:
    explorer = Explorer(page)
    for stage in ("source", "post_grad", "ir_post", "kernel"):
        expect(page.locator(f"[data-stage={stage}] .cm-line").first).to_be_visible()
    explorer.click_line("post_grad", "torch.ops.aten.neg.default")
    explorer.expect_lit("source", ["a = torch.neg(x1)"])


def test_graph_links_and_texts_are_fetched_once(page: Page, zoo: Served) -> None:
    address = graph_of(page, zoo)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    shows_four_panes(page)
    for part in ("/explorer", "/links"):
        assert len([url for url in asked if url.endswith(part)]) == 1
    assert len(asked) == len(set(asked))


def test_a_failed_request_is_explained_and_loading_again_helps(page: Page, zoo: Served) -> None:
    address = graph_of(page, zoo)
    page.route("**/links", lambda route: route.abort(), times=2)
    page.goto(address)
    expect(page.get_by_role("alert")).to_contain_text("The server cannot be reached.")
    page.unroute("**/links")
    page.reload()
    shows_four_panes(page)


def test_choices_are_kept_for_all_pages(page: Page, zoo: Served) -> None:
    address = graph_of(page, zoo)
    page.goto(address)
    Explorer(page)
    page.locator("#theme").click()
    page.locator("#theme").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    types = page.locator("[data-stage=post_grad] .folded")
    expect(types.first).to_be_visible()
    page.locator("[data-stage=post_grad] .cm-content").focus()
    page.keyboard.press("t")
    expect(types).to_have_count(0)
    page.reload()
    Explorer(page)
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(types).to_have_count(0)
    page.goto(zoo.url)
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.locator("#theme").click()
    page.goto(address)
    expect(page.locator("html")).not_to_have_attribute("data-theme", "dark")
    Explorer(page)
    expect(types).to_have_count(0)
