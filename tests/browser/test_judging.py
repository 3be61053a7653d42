"""Kernels are edited and judged by keyboard: verdicts, their links, errors at a line, drafts."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from inductorscope.analyze.judging.configurations import configurations
from inductorscope.cli.local import read_paths
from inductorscope.settings import Settings
from playwright.sync_api import Page, expect

from bench.judge.subject import cases, definition
from tests.support.accessible import axe
from tests.support.explorer import graph_address
from tests.support.serving import Served, serve

PATIENCE_MS = 240_000


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory, fixtures: Path) -> Iterator[str]:
    """The address of a captured C++ kernel, where this machine confines what it judges."""
    settings = Settings(data=tmp_path_factory.mktemp("judged") / "data", database_url="")
    read_paths(
        settings, [fixtures / "judged"], name="judged", tags=[], origin="capture",
        progress=lambda *_: None,
    )  # fmt: skip
    with serve(settings.data, "--workers", "0") as served:
        graph = graph_address(served.url, "judged").removeprefix(served.url)
        kernel = httpx.get(f"{served.url}/api{graph}/explorer").json()["kernels"][0]
        path = f"{graph}/kernels/{kernel['name']}:{kernel['calls'][0]['handle']}"
        started = httpx.post(f"{served.url}/api{path}/judge", json={"code": ""}, timeout=240)
        if started.status_code == 403:
            pytest.skip(started.json()["error"]["what"])
        yield served.url + path


def judged(page: Page) -> str:
    """Presses Ctrl-Enter and waits for another verdict; returns its number."""
    verdict = page.get_by_test_id("verdict")
    before = verdict.get_attribute("data-attempt")
    page.keyboard.press("Control+Enter")
    status = page.locator(".judge-status")
    expect(status).to_contain_text("after the edit", timeout=PATIENCE_MS)
    attempt = verdict.get_attribute("data-attempt") or ""
    assert attempt not in ("", before)
    return attempt


def put_at_end(page: Page, text: str) -> None:
    page.keyboard.press("Control+End")
    page.keyboard.type(text)


def test_each_edit_by_keyboard_gives_a_verdict(page: Page, kernel: str) -> None:
    page.goto(kernel)
    page.get_by_role("link", name="Edit").press("Enter")
    verdict = page.get_by_test_id("verdict")
    expect(verdict).to_contain_text("No verdict is shown yet.")
    expect(page.locator(".cm-content")).to_be_focused()
    put_at_end(page, "\n// is / a key here?")
    attempts = [judged(page)]
    expect(verdict).to_contain_text("accepted")
    expect(verdict).to_contain_text("the original")
    put_at_end(page, "\nint broken = missing;")
    attempts.append(judged(page))
    expect(verdict).to_contain_text("does not run")
    expect(page.locator(".play-editor")).to_contain_text("error: ‘missing’ was not declared")
    assert axe(page) == []
    put_at_end(page, "\nextern int also_missing")
    for _ in range(2):
        page.keyboard.press("Shift+Home")
        page.keyboard.press("Backspace")
        page.keyboard.press("Backspace")
    attempts.append(judged(page))
    expect(verdict).to_contain_text("accepted")
    assert len(set(attempts)) == 3
    # All of them are listed there and on the kernel's page, and each link opens its verdict.
    rows = page.get_by_test_id("attempts").locator("tbody tr")
    expect(rows).to_have_count(3)
    page.goto(kernel)
    expect(rows).to_have_count(3)
    rows.filter(has_text="does not run").get_by_role("link").click()
    expect(page.locator(".play-editor")).to_contain_text("error: ‘missing’ was not declared")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download as a test case").click()
    assert "int broken = missing;" in download.value.path().read_text()


def test_a_draft_stays_when_the_page_is_loaded_again(page: Page, kernel: str) -> None:
    page.goto(f"{kernel}/edit")
    expect(page.locator(".cm-content")).to_be_focused()
    put_at_end(page, "\n// a draft")
    page.reload()
    put_at_end(page, "")
    expect(page.locator(".cm-content")).to_contain_text("// a draft")
    page.get_by_role("button", name="Back to the original").press("Enter")
    expect(page.locator(".cm-content")).not_to_contain_text("// a draft")
    page.route("**/judge", lambda route: route.abort())
    page.keyboard.press("Control+Enter")
    expect(page.locator(".judge-status")).to_contain_text("The server cannot be reached.")


def test_configurations_are_judged_in_turn(page: Page, kernel: str) -> None:
    page.goto(f"{kernel}/edit")
    expect(page.locator(".cm-content")).to_be_focused()
    source = definition(cases()[0]).split("'''")[1].strip()
    parallel = source.replace("#pragma GCC ivdep", "#pragma omp parallel for num_threads(2)", 1)
    page.evaluate(
        "text => localStorage.setItem(`edit ${location.href}`, text)", parallel
    )  # a draft
    page.reload()
    expect(page.locator(".cm-content")).to_contain_text("num_threads(2)")
    page.get_by_role("button", name="Try configurations").press("Enter")
    expect(page.locator(".judge-status")).to_contain_text(
        "an attempt of its own", timeout=PATIENCE_MS
    )
    rows = page.locator(".sweep tr")
    offered = configurations(parallel)
    expect(rows).to_have_count(len(offered) + 1)
    expect(rows.first).to_contain_text("as it is")
    assert axe(page) == []
    rows.filter(has_text="1 thread").get_by_role("link").click()
    expect(page.get_by_test_id("verdict")).to_contain_text("accepted")
    expect(page.locator(".cm-content")).to_contain_text("num_threads(1)")
    page.get_by_role("button", name="Back to the original").press("Enter")
    page.get_by_role("button", name="Try configurations").press("Enter")
    expect(page.locator(".judge-status")).to_contain_text("There is nothing to choose")


def test_uploaded_code_is_not_judged(page: Page, zoo: Served) -> None:
    graph = graph_address(zoo.url, "cuda-foo1")
    api = f"{zoo.url}/api{graph.removeprefix(zoo.url)}"
    found = httpx.get(f"{api}/explorer").json()["kernels"][0]
    path = f"/kernels/{found['name']}:{found['calls'][0]['handle']}"
    refused = httpx.post(f"{api}{path}/judge", json={"code": "pass"}, timeout=60)
    assert "never run here" in refused.json()["error"]["what"]
    page.goto(f"{graph}{path}/edit")
    expect(page.get_by_role("button", name="Judge it")).to_be_disabled()
    expect(page.get_by_role("main")).to_contain_text("never runs uploaded code")
    assert axe(page) == []
