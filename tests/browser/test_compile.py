"""The pages about compiling in a browser: quick to filter, growing while watched."""

import gzip
import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.support.serving import Served


@pytest.fixture(scope="module")
def story(filled: tuple[Served, dict[str, str]]) -> str:
    """The address of the story of the dynamic program's log."""
    served, where = filled
    return f"{served.url}/runs/{where['story']}/compile"


def test_the_list_filters_as_one_types(page: Page, story: str) -> None:
    page.goto(f"{story}/list")
    rows = page.get_by_test_id("compiles").locator("tbody tr")
    expect(rows).to_have_count(6)
    page.get_by_label("Filter compiles").press_sequentially("0/1")
    expect(rows).to_have_count(1)
    expect(page).to_have_url(re.compile(r"q=0(/|%2F)1"))
    page.get_by_label("Filter compiles").fill("")
    page.get_by_label("Only", exact=True).select_option("broken")
    expect(rows).to_have_count(4)


def test_phases_are_walked_by_keyboard(page: Page, story: str) -> None:
    page.goto(f"{story}/time")
    picture = page.locator(".icicle-picture")
    said = page.locator(".icicle-said")
    picture.focus()
    page.keyboard.press("ArrowDown")
    expect(said).to_contain_text("dynamo")
    page.keyboard.press("ArrowDown")
    expect(said).to_contain_text("entire_frame_compile")
    page.keyboard.press("Enter")
    shapes = picture.locator("rect")
    alone = shapes.count()
    expect(page.get_by_role("button", name="Show all", exact=True)).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Show all", exact=True)).to_be_hidden()
    assert shapes.count() != alone
    page.get_by_label("Find phases").fill("async_compile")
    assert picture.locator("g:not(.dim)").count() < picture.locator("g").count()


def test_a_text_opens_beside_the_list_and_guards_filter(page: Page, story: str) -> None:
    page.goto(f"{story}/3")
    page.locator(".artifacts").get_by_role("button", name="Show all").click()
    page.get_by_role("link", name="inductor_output_code", exact=True).click()
    viewer = page.locator("#viewer")
    expect(viewer.locator(".cm-content")).to_contain_text("AOT ID")
    viewer.get_by_role("button", name="Find").click()
    expect(viewer.locator(".cm-search")).to_be_visible()
    page.reload()
    expect(viewer.locator(".cm-content")).to_contain_text("AOT ID")
    guards = page.locator("#guard-tree li:visible")
    whole = guards.count()
    page.get_by_label("Filter guards").fill("tensor_match size")
    expect(guards.first).to_contain_text("everything")
    assert 0 < guards.count() < whole
    page.get_by_role("link", name="what changed since 0/0").click()
    expect(page.locator(".diff .new", has_text="size=[None, 8]")).to_be_visible()


def test_the_page_grows_while_a_log_is_written(
    page: Page, filled: tuple[Served, dict[str, str]], fixtures: Path, tmp_path: Path
) -> None:
    served = filled[0]
    (packed,) = (fixtures / "dynamic" / "torch_trace").iterdir()
    log = gzip.decompress(packed.read_bytes())
    first = log.index(b'"frame_id": 1,')
    folder = tmp_path / "trace"
    folder.mkdir()
    file = folder / "dedicated_log_torch_trace_a.log"
    begun = log.index(b"\nV") + 1  # its first record, which is of no compile
    file.write_bytes(log[:begun])
    command = [sys.executable, "-m", "inductorscope", "watch", str(folder), "--data",
               str(served.data), "--every", "0.3"]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watching:
        try:
            assert watching.stdout is not None
            address = watching.stdout.readline().strip()
            page.goto(served.url + address[address.index("/watch/") :])
            expect(page.get_by_role("heading", name="Nothing yet")).to_be_visible(timeout=20_000)
            with file.open("ab") as stream:
                stream.write(log[begun:first])
            told = page.get_by_test_id("story")
            expect(told).to_contain_text("1 graph from 1 function", timeout=20_000)
            with file.open("ab") as stream:
                stream.write(log[first:])
            expect(told).to_contain_text("4 graph breaks at 2 places", timeout=20_000)
            expect(told).to_contain_text("6 graphs", timeout=20_000)
            assert "/compile" in page.url
        finally:
            watching.terminate()
