"""Searching with the keyboard, from any page to a line in the explorer; a file's lines."""

import httpx
from playwright.sync_api import Page, expect

from tests.support.serving import Served


def test_from_any_page_to_a_line_in_the_explorer(page: Page, zoo: Served) -> None:
    page.goto(f"{zoo.url}/jobs")
    page.wait_for_function("() => document.querySelector('#theme')?.title")
    page.keyboard.press("Control+k")
    page.keyboard.type("tl.load(in_ptr0")
    page.keyboard.press("Enter")
    expect(page).to_have_title("“tl.load(in_ptr0” – Search · Inductorscope")
    hit = page.locator(".found .lines a").first
    number = hit.locator(".number").inner_text()
    code = hit.locator("code").inner_text()
    expect(hit.locator("mark")).to_have_text("tl.load(in_ptr0")
    hit.focus()
    page.keyboard.press("Enter")
    page.wait_for_function("() => window.inductorscope?.explorer?.ready === true")
    assert page.url.endswith(f"sel=kernel:{number}")
    expect(page.locator(".panes")).to_contain_text(code)


def test_kinds_of_text_narrow_a_search(page: Page, zoo: Served) -> None:
    page.goto(f"{zoo.url}/search?q=buf0")
    before = page.locator(".found").count()
    page.get_by_label("Kind of text").select_option("ir_post")
    page.wait_for_url("**role=ir_post**")
    chips = page.locator(".found h3 .chip")
    assert 0 < chips.count() < before
    assert set(chips.all_inner_texts()) == {"IR post-fusion"}
    assert page.locator("main input[name=q]").input_value() == "buf0"


def test_a_file_opens_at_a_line_and_marks_a_range(page: Page, zoo: Served) -> None:
    run = httpx.get(f"{zoo.url}/api/", timeout=30).json()["runs"][0]["id"]
    files = httpx.get(f"{zoo.url}/api/runs/{run}/read", timeout=30).json()["files"]
    log = next(file["artifact"] for file in files if file["role"] == "trace_log")
    page.goto(f"{zoo.url}/runs/{run}/files/{log}?line=600")
    expect(page.locator("#L600")).to_be_in_viewport()
    expect(page.locator(".marked")).to_have_count(1)
    page.locator("#L604 .number").click(modifiers=["Shift"])
    page.wait_for_url("**?line=600&last=604")
    expect(page.locator(".marked")).to_have_count(5)
    page.get_by_label("Go to line").fill("20")
    page.keyboard.press("Enter")
    page.wait_for_url("**?line=20")
    expect(page.locator("#L20")).to_have_class("marked")
