"""Side by side: two clicks from the explorer, lines that belong together level, by keyboard."""

import re
from collections import Counter

from playwright.sync_api import Page, expect

from tests.support.accessible import check
from tests.support.explorer import open_graph
from tests.support.serving import Served


def wait_until_level(page: Page) -> None:
    page.wait_for_function("() => document.querySelector('#beside')?.dataset.ready === 'true'")


def tops(page: Page, side: str) -> dict[str, int]:
    """Where lines of a side stand, by what they are: those that it has once, and not alone."""
    found = page.evaluate(
        """(side) => [...document.querySelectorAll(`[data-side=${side}] .cm-line`)]
             .filter((line) => !line.classList.contains("level-only"))
             .map((line) => [line.textContent.replace(/\\d+/g, "#").trim(),
                             Math.round(line.getBoundingClientRect().top)])""",
        side,
    )
    often = Counter(text for text, _ in found)
    return {text: top for text, top in found if text and often[text] == 1}


def test_two_kernels_are_two_clicks_away_and_stand_level(page: Page, zoo: Served) -> None:
    open_graph(page, zoo, "cpu-ops-zoo")
    page.get_by_role("button", name="Compare this pane with").last.click()
    page.get_by_role("link", name="Another kernel of this graph").click()
    wait_until_level(page)
    status = page.locator("#status")
    expect(status).to_contain_text("only on the left")
    left, right = tops(page, "left"), tops(page, "right")
    shared = left.keys() & right.keys()
    assert len(shared) > 3
    assert [text for text in shared if abs(left[text] - right[text]) > 1] == []

    # n walks the differences, and the chosen line leads into the explorer.
    expect(status).to_contain_text("difference 1 of")
    page.keyboard.press("n")
    expect(status).to_contain_text("difference 2 of")
    link = page.locator("[data-side=left] .in-explorer").get_attribute("href")
    assert link
    assert re.search(r"kernel=cpp_fused.*&sel=kernel:\d+$", link)
    page.keyboard.press("s")
    page.wait_for_function("() => document.querySelector('#beside')?.dataset.ready === 'true'")


def test_graphs_of_two_runs_are_compared_by_choosing_the_run(page: Page, zoo: Served) -> None:
    open_graph(page, zoo, "cuda-foo1", "?panes=post_grad,kernel")
    page.get_by_role("button", name="Compare this pane with").first.click()
    page.get_by_role("link", name="The same of another run").click()
    wait_until_level(page)
    expect(page.locator("#status")).to_contain_text("are the same, line for line")
    with page.expect_navigation():
        page.locator("[data-side=right] select.run").select_option("cpu-ops-zoo")
    wait_until_level(page)
    expect(page.locator("#status")).to_contain_text("only on the right")
    # What differs in numbers and comments alone is hidden until one asks.
    marked = page.locator(".level-only, .level-changed, .level-moved")
    some, tally = marked.count(), page.locator(".beside-tally")
    said = tally.text_content() or ""
    page.get_by_label("Hide comments, paths, numbers").uncheck()
    assert marked.count() >= some
    page.keyboard.press("h")
    expect(page.locator("#status")).to_contain_text("(h shows them)")
    expect(tally).to_have_text(said)
    expect(tally).to_contain_text("Only here: ")
    # The address opens the same again.
    words = page.locator("#status .what span").first.inner_text()
    page.reload()
    wait_until_level(page)
    expect(page.locator("#status .what span").first).to_have_text(words)


def test_a_stage_is_compared_with_what_it_was_made_from(page: Page, zoo: Served) -> None:
    open_graph(page, zoo, "cpu-ops-zoo", "?panes=ir_post")
    page.get_by_role("button", name="Compare this pane with").first.click()
    page.get_by_role("link", name="IR pre-fusion, which it was made from").click()
    wait_until_level(page)
    left, right = tops(page, "left"), tops(page, "right")
    shared = [text for text in left.keys() & right.keys() if "ops." in text]
    assert [text for text in shared if abs(left[text] - right[text]) > 1] == []


def test_it_is_accessible_and_fits(page: Page, zoo: Served) -> None:
    open_graph(page, zoo, "cuda-foo1", "?panes=post_grad")
    page.get_by_role("button", name="Compare this pane with").first.click()
    page.get_by_role("link", name="FX received").click()
    wait_until_level(page)
    check(page, "two texts side by side")
