"""The timeline as people use it: zoom, pan, search, select, mark, and open the address again."""

import json
import re
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.support.accessible import check
from tests.support.serving import Served


@pytest.fixture(scope="module")
def timeline(zoo: Served) -> str:
    """The address of the timeline of a run that was profiled."""
    run = httpx.get(f"{zoo.url}/api/", timeout=30).json()["runs"][0]["id"]
    return f"{zoo.url}/runs/{run}/timeline"


def window(page: Page) -> tuple[float, float]:
    """Begin and end of the window, as the address has them."""
    start, end = (re.search(rf"{name}=([\d.]+)", page.url) for name in ("start", "end"))
    assert start is not None, page.url
    assert end is not None, page.url
    return float(start[1]), float(end[1])


def carried(page: Page) -> Any:
    return json.loads(page.locator("#timeline-data").inner_text() or "null")


def test_zoom_search_select_and_open_again(page: Page, timeline: str) -> None:
    page.goto(timeline)
    canvas = page.get_by_label("Events over time")
    expect(page.get_by_test_id("device-sums")).to_contain_text("Triton pointwise")

    canvas.press("w")
    page.wait_for_url(re.compile("start="))
    once = window(page)
    canvas.press("d")
    page.wait_for_function(f"() => !location.search.includes('start={once[0]:.3f}')")
    moved = window(page)
    assert moved[0] > once[0]
    assert moved[1] - moved[0] == pytest.approx(once[1] - once[0], abs=0.01)
    canvas.hover(position={"x": 300, "y": 100})
    page.mouse.wheel(0, -200)
    page.wait_for_function(f"() => !location.search.includes('start={moved[0]:.3f}')")
    nearer = window(page)
    assert nearer[1] - nearer[0] < moved[1] - moved[0]
    canvas.press("0")
    page.wait_for_url(lambda url: "start=" not in url)

    page.get_by_label("Find events by name").fill("maximum_neg")
    found = page.locator("[data-part=found]")
    expect(found).to_have_text(re.compile(r"^\d+ device runs?, .*; \d+ others?, "))
    canvas.press("n")
    expect(found).to_have_text(re.compile(r"^\d+ of "))
    selected = page.get_by_test_id("selected")
    expect(selected).to_contain_text("Launched in")
    expect(selected.locator("h2")).to_have_text(re.compile("triton_poi_fused_maximum_neg"))
    page.get_by_test_id("device-longest").locator("a [title^=triton_poi]").first.click()
    expect(selected).to_contain_text("Launched in")
    expect(canvas).to_be_in_viewport()
    expect(selected.get_by_role("link", name="Kernel", exact=True)).to_be_visible()
    canvas.press("m")
    expect(page.get_by_test_id("device-sums").locator("xpath=ancestor::section")).to_contain_text(
        "in the marked"
    )
    canvas.press("f")
    page.wait_for_url(re.compile(r"start=.*event=\d+.*q=maximum_neg.*mark=[\d.]+~[\d.]+"))
    address = page.url

    page.goto("about:blank")
    page.goto(address)
    expect(selected).to_contain_text("Launched in")
    page_has = carried(page)
    assert list(window(page)) == pytest.approx([page_has["start_us"], page_has["end_us"]], abs=0.01)
    expect(page.get_by_label("Find events by name")).to_have_value("maximum_neg")
    check(page, "timeline with a selection")
    foot = selected.evaluate("(selected) => selected.getBoundingClientRect().bottom")
    assert foot <= page.evaluate("innerHeight"), "what is selected is seen without scrolling"
    selected.get_by_role("link", name="Kernel", exact=True).click()
    expect(page.locator("h1")).to_have_text("maximum + neg 0")
