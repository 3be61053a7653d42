"""The time page as people use it: charts that are drawn, saved and lead on; long tables."""

from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.support.serving import Served


@pytest.fixture(scope="module")
def timed(zoo: Served) -> str:
    """The address of a run that was profiled."""
    run = httpx.get(f"{zoo.url}/api/", timeout=30).json()["runs"][0]["id"]
    return f"{zoo.url}/runs/{run}"


def drawn(page: Page, chart: str) -> list[str]:
    """Types of the traces that Plotly drew."""
    page.wait_for_function(
        f"() => document.querySelector('[data-chart=\"{chart}\"]')?._fullData?.length > 0"
    )
    found = page.evaluate(
        f"() => document.querySelector('[data-chart=\"{chart}\"]')._fullData.map(t => t.type)"
    )
    assert isinstance(found, list)
    return found


def test_charts_are_drawn_and_saved(page: Page, timed: str) -> None:
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(f"{timed}/time")
    for chart in ("groups", "timeline", "categories"):
        assert set(drawn(page, chart)) == {"bar"}
    assert drawn(page, "map") == ["treemap"]
    with page.expect_download() as saved:
        page.locator('[data-downloads="timeline"]').get_by_role("button", name="CSV").click()
    lines = Path(saved.value.path()).read_text().splitlines()
    assert lines[0] == "part,idle,µs of the trace,share"
    assert sum(float(line.split(",")[-1]) for line in lines[1:]) == pytest.approx(1)
    with page.expect_download() as saved:
        page.locator('[data-downloads="categories"]').get_by_role("button", name="SVG").click()
    assert saved.value.suggested_filename == "categories.svg"
    assert said == []


def test_a_line_of_the_map_fills_it_and_a_kernel_opens_its_page(page: Page, timed: str) -> None:
    page.goto(f"{timed}/time")
    drawn(page, "map")
    back = page.get_by_role("button", name="← Back")
    expect(back).to_be_hidden()
    page.locator('[data-chart="map"] text', has_text="line 10").first.click(force=True)
    expect(page.locator("#lines-table tr.chosen")).to_have_count(1)
    back.click()
    expect(page.locator("#lines-table tr.chosen")).to_have_count(0)
    kernel = page.locator('[data-chart="map"] text', has_text="maximum_neg_0").first
    kernel.click(force=True)
    expect(page.locator("h1")).to_have_text("maximum + neg 0")


def test_from_a_kind_of_work_to_its_kernels(page: Page, timed: str) -> None:
    page.goto(f"{timed}/time")
    page.locator(".chart", has=page.get_by_test_id("categories")).locator("summary").click()
    page.get_by_test_id("categories").get_by_role("link", name="Triton pointwise").click()
    rows = page.get_by_test_id("rows").locator("tbody tr")
    expect(rows).to_have_count(1)
    expect(rows.first.locator("[title=triton_poi_fused_maximum_neg_0]").first).to_be_visible()
    page.get_by_role("link", name="Longest").click()
    assert "sort=longest" in page.url
    expect(page.locator('th[aria-sort="descending"]')).to_contain_text("Longest")
    page.get_by_label("Name contains").fill("no such kernel")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("heading", name="Nothing matches")).to_be_visible()
