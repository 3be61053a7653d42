"""How the explorer opens, and what it remembers of the reader's choices."""

from pathlib import Path

import httpx
from inductorscope.cli.local import read_paths
from inductorscope.settings import Settings
from playwright.sync_api import Page, expect

from tests.support.accessible import axe
from tests.support.explorer import Explorer, graph_address
from tests.support.serving import Served, serve


def shows_three_panes(page: Page) -> None:
    explorer = Explorer(page)
    for stage in ("source", "post_grad", "kernel"):
        expect(page.locator(f"[data-stage={stage}] .cm-line").first).to_be_visible()
    explorer.click_line("post_grad", "torch.ops.aten.neg.default")
    explorer.expect_lit("source", ["a = torch.neg(x1)"])


def test_graph_links_and_texts_are_fetched_once(page: Page, zoo: Served) -> None:
    address = graph_address(zoo.url, "cuda-foo1")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    shows_three_panes(page)
    for part in ("/explorer", "/links"):
        assert len([url for url in asked if url.endswith(part)]) == 1
    assert len(asked) == len(set(asked))


def test_it_opens_on_the_dearest_line_lit_through_to_its_kernel_in_colours(
    page: Page, zoo: Served
) -> None:
    page.goto(graph_address(zoo.url, "cuda-foo1"))
    explorer = Explorer(page)
    page.wait_for_url("**sel=source:**models.py:**")
    assert [explorer.lit(stage) for stage in ("source", "post_grad", "kernel")].count([]) == 0
    expect(page.locator(".chain-step").first).to_contain_text("models.py")
    expect(page.locator("#status")).to_contain_text(" a step")
    # One colour for a source line in all panes, which l takes away and gives back.
    colours = """() => ["source", "post_grad", "kernel"].map((stage) => {
        const line = document.querySelector(`[data-stage=${stage}] .cm-line.tint.lit`);
        return getComputedStyle(line).backgroundImage;
      })"""
    first, *others = page.evaluate(colours)
    assert "gradient" in first
    assert others == [first, first]
    assert axe(page) == []
    page.keyboard.press("l")
    assert page.evaluate(colours) == ["none"] * 3
    page.keyboard.press("l")
    # Letting go is a choice too: the page does not select again. The address says so at once, or
    # Back right after it would leave out a step.
    address = page.evaluate(
        """() => {
             const escape = new KeyboardEvent("keydown", {key: "Escape", bubbles: true});
             document.body.dispatchEvent(escape);
             return location.search;
           }"""
    )
    assert address
    assert "sel=" not in address
    explorer.expect_lit("source", [])
    page.reload()
    assert Explorer(page).lit("source") == []


def test_a_failed_request_is_explained_and_loading_again_helps(page: Page, zoo: Served) -> None:
    address = graph_address(zoo.url, "cuda-foo1")
    page.route("**/links", lambda route: route.abort(), times=2)
    page.goto(address)
    expect(page.get_by_role("alert")).to_contain_text("The server cannot be reached.")
    page.unroute("**/links")
    page.reload()
    shows_three_panes(page)


def test_choices_are_kept_for_all_pages(page: Page, zoo: Served) -> None:
    address = graph_address(zoo.url, "cuda-foo1")
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


def test_it_opens_on_a_generated_kernel_though_a_library_takes_longer(
    page: Page, shared: Path, tmp_path: Path
) -> None:
    settings = Settings(data=tmp_path / "data", database_url="")
    read_paths(
        settings, [shared / "traces" / "cuda-gpt-train"], name=None, tags=[], origin="ingest",
        progress=lambda *_: None,
    )  # fmt: skip
    with serve(settings.data, "--workers", "0") as served:
        page.goto(graph_address(served.url, "cuda-gpt-train"))
        page.wait_for_url("**kernel=triton_**sel=source:**")
        expect(page.locator("[data-stage=kernel] .cm-line.lit").first).to_be_visible()
        expect(page.locator(".kernels [aria-selected=true]")).not_to_have_text("mm")


def test_the_stages_of_a_kernel_are_tabs_on_its_page(page: Page, zoo: Served) -> None:
    address = graph_address(zoo.url, "cuda-foo1")
    kernels = httpx.get(f"{zoo.url}/api{address.removeprefix(zoo.url)}/explorer").json()["kernels"]
    page.goto(f"{address}/kernels/{kernels[0]['name']}:{kernels[0]['calls'][0]['handle']}")
    tabs = page.get_by_role("navigation", name="Stages of the kernel")
    expect(tabs.get_by_role("button")).to_have_count(4)
    expect(tabs.get_by_role("button", name="Kernel")).to_have_attribute("aria-pressed", "true")
    tabs.get_by_role("button", name="IR post-fusion").press("Enter")
    expect(page.locator("[data-stage=ir_post] .cm-line.lit").first).to_be_visible()
    assert axe(page) == []
    page.set_viewport_size({"width": 390, "height": 844})
    page.reload()
    expect(tabs.locator("[aria-pressed=true]")).to_have_count(1)
    assert page.evaluate("scrollY") == 0  # the chosen tab does not scroll the page to itself
