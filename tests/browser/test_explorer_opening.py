"""How the explorer opens: what it fetches for its first panes, and what it does without that."""

from __future__ import annotations

from playwright.sync_api import Page, Route, expect

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


def test_all_that_the_first_panes_show_is_fetched_once(page: Page, zoo: Served) -> None:
    address = graph_of(page, zoo)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    shows_four_panes(page)
    for part, times in (("/opening", 1), ("/links", 1), ("/explorer", 0)):
        assert len([url for url in asked if url.split("?")[0].endswith(part)]) == times
    assert len(asked) == len(set(asked))
    # Scripts in which the first panes do not wait for each other: what one needs, the head names.
    chunks = [url for url in asked if "/static/chunks/explorer-chunk" in url]
    first = [url for url in asked if url.split("?")[0].endswith(("explorer.js", "styles.css"))]
    assert len(chunks) == 1
    assert max(map(asked.index, chunks)) < max(map(asked.index, first))


def test_texts_of_the_first_panes_come_with_the_rest(page: Page, zoo: Served) -> None:
    address = graph_of(page, zoo)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{address}?panes=post_grad,ir_post")
    explorer = Explorer(page)
    assert explorer.line_of("post_grad", "torch.ops.aten.neg.default")
    assert not [url for url in asked if "/text" in url]


def test_what_does_not_come_with_the_rest_is_asked_for_by_itself(page: Page, zoo: Served) -> None:
    address = graph_of(page, zoo)

    def fail(route: Route) -> None:
        route.abort()

    for part in ("opening", "links"):
        page.route(f"**/{part}*", fail, times=1)
        page.goto(address)
        shows_four_panes(page)


def test_an_answer_that_breaks_off_is_asked_for_anew(page: Page, zoo: Served) -> None:
    address = graph_of(page, zoo)
    page.route("**/opening*", lambda route: route.fulfill(status=200, body='{"explorer":9'))
    page.goto(address)
    shows_four_panes(page)


def test_a_graph_opens_without_the_script_of_the_head(page: Page, zoo: Served) -> None:
    address = graph_of(page, zoo)
    page.route("**/explorer-first.js*", lambda route: route.abort())
    page.goto(address)
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
