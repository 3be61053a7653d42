"""The tutorial's faults from capture to verdict, as a person sees them."""

import re
from pathlib import Path

import pytest
from inductorscope.settings import Settings
from playwright.sync_api import Page, expect

from tests.support.captured import captured_run
from tests.support.serving import Served

CAPTURE_MS = 240_000
DIAGNOSIS_MS = 240_000


def captured(server: Served, capture: Path, into: Path, model: str) -> str:
    """The page of failures of a capture that was made before."""
    settings = Settings(data=server.data, database_url="")
    return f"{server.url}/runs/{captured_run(settings, capture, into, model)}/failures"


@pytest.fixture(scope="module")
def neg(server: Served, fixtures: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of failures of the kernel that does not compile."""
    into = tmp_path_factory.mktemp("captures")
    return captured(server, fixtures / "neg-does-not-compile", into, "neg-does-not-compile")


def test_a_kernel_that_does_not_compile_names_neg(page: Page, neg: str) -> None:
    page.goto(neg)
    expect(page.locator(".cause")).to_contain_text("The cause is neg")
    refused = page.locator("li.refused")
    expect(refused).to_contain_text("auto tmp3 = max_propagate_nan(tmp0, tmp2);")
    expect(page.locator("li.said-here")).to_contain_text("error: no matching function for call to")
    expect(page.locator("li.suspect")).to_contain_text("auto tmp2 = -tmp1;")
    way = page.locator("ol.way").last.locator("li")
    for step, text in enumerate(
        ["a = torch.neg(x1)", "neg = aten.neg.default(arg0_1)", "neg = ops.neg(load_1)",
         "auto tmp2 = -tmp1;"]
    ):  # fmt: skip
        expect(way.nth(step)).to_contain_text(text)
    way.nth(3).locator("a").click()
    expect(page).to_have_url(re.compile("sel=kernel"))
    # In the explorer the error stands at its place in the code, as wide as the pane.
    expect(page.locator("[data-stage=kernel] .squiggled").first).to_be_visible()
    message = page.locator(".compile-error")
    expect(message).to_contain_text("no matching function for call to")
    pane = page.locator("[data-stage=kernel]").bounding_box()
    box = message.bounding_box()
    assert pane is not None
    assert box is not None
    assert box["x"] + box["width"] <= pane["x"] + pane["width"]
    page.get_by_role("button", name="More of this kernel").click()
    page.get_by_role("link", name="The kernel's page").click()
    expect(page.get_by_test_id("errors")).to_contain_text("no matching function for call to")
    page.get_by_role("link", name="Time", exact=True).click()
    expect(page.get_by_role("link", name="Why it failed")).to_be_visible()


def test_the_report_is_copied(page: Page, neg: str) -> None:
    page.goto(neg)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy as issue").click()
    text = page.evaluate("() => navigator.clipboard.readText()")
    assert "The cause is `neg`." in text
    assert neg in text


def test_the_component_is_inductor(page: Page, neg: str) -> None:
    page.goto(neg)
    page.locator("#components").get_by_role("button", name="Start").click()
    found = page.get_by_role("link", name="See results", exact=True)
    expect(found).to_be_visible(timeout=DIAGNOSIS_MS)
    found.click()
    expect(page.locator(".diagnosis-verdict")).to_contain_text("Inductor: code generation of")
    rows = page.get_by_test_id("backends").locator("tbody tr")
    expect(rows).to_have_count(4)
    for number, outcome in enumerate(["agrees", "agrees", "agrees", "fails"]):
        expect(rows.nth(number).locator(".chip")).to_have_text(outcome)
    expect(page.get_by_test_id("bisect")).to_contain_text("without lowerings")


def test_an_operator_without_lowering_is_named(page: Page, server: Served) -> None:
    page.goto(f"{server.url}/capture")
    page.locator("input[name=model][value=foobar-without-lowering]").check()
    page.get_by_role("button", name="Start the capture").click()
    link = page.get_by_role("link", name="Open the run")
    expect(link).to_be_visible(timeout=CAPTURE_MS)
    link.click()
    page.get_by_role("link", name="Failures", exact=True).click()
    expect(page.get_by_role("heading", name="Failures", exact=True)).to_be_visible()
    expect(page.locator(".cause")).to_contain_text("The cause is _foobar")
    steps = page.locator("ol.way li")
    expect(steps.nth(0)).to_contain_text("a = torch.ops.aten._foobar(z)")
    expect(steps.nth(1)).to_contain_text("_foobar = aten._foobar.default(add)")
    steps.nth(1).locator("a").click()
    expect(page).to_have_url(re.compile("sel=post_grad"))
