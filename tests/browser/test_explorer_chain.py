"""The tutorial's chain, walked by keyboard alone: Python line → FX node → ops.* → kernel → call."""

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.explorer import Explorer
from tests.support.serving import Served


@pytest.fixture(scope="module")
def graph_url(tutorial: Served, chromium: Browser) -> str:
    """The tutorial's captured graph."""
    page = chromium.new_page()
    page.goto(tutorial.url)
    row = page.locator("[data-testid=runs-table] a", has_text="neg-maximum-cat").first
    expect(row).to_be_visible(timeout=240_000)
    row.click()
    link = page.locator("a[href*='/graphs/']").first.get_attribute("href")
    page.close()
    assert link
    return tutorial.url + link


def step(page: Page, title: str) -> list[str]:
    """What a step of the chain lists."""
    found = page.get_by_role("region", name=title).locator("li")
    return [text.strip() for text in found.all_inner_texts()]


def press_until(page: Page, key: str, wanted: str) -> None:
    """Press a key until what has the focus says something."""
    for _ in range(80):
        focused = page.evaluate("() => document.activeElement?.textContent ?? ''")
        if wanted in str(focused) and page.evaluate(
            "() => document.activeElement.matches('button')"
        ):
            return
        page.keyboard.press(key)
    raise AssertionError(f"{key} never came to {wanted!r}")


def test_the_chain_from_python_to_the_kernel_and_back_by_keyboard(
    page: Page, graph_url: str
) -> None:
    page.goto(graph_url)
    explorer = Explorer(page)
    explorer.focus_pane_by_keyboard("source")
    for _ in range(60):
        if "torch.neg(x1)" in explorer.cursor_text("source"):
            break
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    explorer.expect_lit("source", ["a = torch.neg(x1)"])

    expect(page.get_by_role("region", name="FX post-grad").locator("li")).to_have_text(
        ["neg torch.ops.aten.neg.default(arg0_1); arg0_1 = None"]
    )
    assert any("neg = ops.neg(load_1)" in link for link in step(page, "ops.*"))
    page.keyboard.press("c")
    press_until(page, "Tab", "tmp1.neg()")
    page.keyboard.press("Enter")
    page.wait_for_function(
        """() => document.activeElement?.closest("[data-stage]")?.dataset.stage === "kernel" """
    )
    assert "auto tmp2 = tmp1.neg();" in explorer.cursor_text("kernel")

    # From there the line itself is kept, and the chain leads back.
    page.keyboard.press("Enter")
    page.wait_for_url("**sel=kernel:**")
    page.keyboard.press("c")
    press_until(page, "Tab", "a = torch.neg(x1)")
    page.keyboard.press("Enter")
    page.wait_for_function(
        """() => document.activeElement?.closest("[data-stage]")?.dataset.stage === "source" """
    )
    assert "torch.neg(x1)" in explorer.cursor_text("source")

    # The call stands in the wrapper, which takes a pane's place.
    page.keyboard.press("c")
    press_until(page, "Tab", "cpp_fused")
    page.keyboard.press("Enter")
    page.wait_for_function(
        """() => document.activeElement?.closest("[data-stage]")?.dataset.stage === "wrapper" """
    )
    assert "cpp_fused" in explorer.cursor_text("wrapper")


def test_a_closed_chain_stays_closed(page: Page, graph_url: str) -> None:
    page.goto(graph_url)
    Explorer(page)
    chain = page.get_by_role("region", name="Chain of the selection")
    expect(chain).to_be_visible()
    page.keyboard.press("c")
    page.keyboard.press("c")
    expect(chain).to_be_hidden()
    page.reload()
    Explorer(page)
    expect(chain).to_be_hidden()


def test_the_captured_kernel_is_annotated_as_in_the_tutorial(page: Page, graph_url: str) -> None:
    page.goto(graph_url)
    Explorer(page)
    link = page.get_by_role("link", name="Annotated code").get_attribute("href")
    assert link
    text = page.request.get(page.url.split("/runs/")[0] + link).text()
    lines = [line.strip() for line in text.split("\n")]
    neg = lines.index("auto tmp2 = tmp1.neg();")
    wanted = (
        "// Corresponding FX code line: neg = torch.ops.aten.neg.default(arg0_1);  arg0_1 = None"
    )
    assert lines[neg - 1] == wanted
    assert lines[neg + 1 :][:3][-2].startswith("// Corresponding FX code line: maximum = ")
