"""What pages say when a request fails, and that they work again: each request of each script fails
in turn, because nobody answers, the server fails, the login has ended, or the answer is damaged."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from inductorscope import urls
from inductorscope.cli.local import read_paths
from inductorscope.settings import Settings
from playwright.sync_api import Locator, Page, Route, expect

from tests.support.explorer import Explorer
from tests.support.serving import Served, serve

TOKEN = "0123456789abcdef"
Faults = dict[str, tuple[Callable[[Route], None], str]]
"""What answers instead, and the sentence that the page then has."""
FAULTS: Faults = {
    "offline": (
        lambda route: route.abort("internetdisconnected"),
        "The server cannot be reached. Check that it runs, then try again.",
    ),
    "server fails": (
        lambda route: route.fulfill(status=500, body="no"),
        "The server answered with status 500. Reload the page",
    ),
    "login ended": (
        lambda route: route.continue_(),
        "You are not logged in. Log in at /login, then reload this page.",
    ),
}
DAMAGED: Faults = {
    "damaged": (
        lambda route: route.fulfill(body='{"graphs": [', content_type="application/json"),
        "The server's answer cannot be read. Reload the page",
    )
}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, fixtures: Path) -> Iterator[Served]:
    """A server that shows its two runs to those who are logged in."""
    data = tmp_path_factory.mktemp("guarded") / "data"
    for name in ("dynamic", "cuda-foo1"):
        read_paths(
            Settings(data=data, database_url=""), [fixtures / name], name=name, tags=[],
            origin="ingest", progress=lambda *_: None,
        )  # fmt: skip
    asks = {"INDUCTORSCOPE_TOKEN": TOKEN, "INDUCTORSCOPE_TOKEN_TO_READ": "1"}
    with serve(data, "--workers", "0", env=asks) as served:
        yield served


@pytest.fixture(scope="module")
def run(guarded: Served) -> dict[str, str]:
    """The addresses of the run's pages."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with httpx.Client(base_url=guarded.url, headers=headers, timeout=30) as client:
        run = client.get("/api/").json()["runs"][0]["id"]
        slug = client.get(f"/api/runs/{run}").json()["graphs"][0]["slug"]
    graph = guarded.url + urls.graph(run, slug)
    side = f"{run}/{slug}/post_grad"
    return {
        "graph": graph,
        "timeline": f"{guarded.url}/runs/{run}/timeline",
        "beside": f"{guarded.url}/beside?left={side}&right={side}",
    }


@pytest.fixture
def page(page: Page, guarded: Served) -> Page:
    """A page of somebody who is logged in."""
    log_in(page, guarded)
    return page


def log_in(page: Page, served: Served) -> None:
    login = f"{served.url}/login"
    assert page.context.request.post(login, form={"token": TOKEN, "next": "/healthz"}).ok


def fails_in_turn(
    page: Page,
    served: Served,
    route: str,
    act: Callable[[], object],
    said: Locator,
    works: Callable[[], None],
    faults: Faults = FAULTS,
) -> None:
    """Acts while the route fails in each way; then without a fault, which must work."""
    console: list[str] = []
    page.on("console", lambda message: console.append(message.text))
    for fault, (answer, sentence) in faults.items():
        page.route(route, answer)
        if fault == "login ended":
            page.context.clear_cookies()
        console.clear()
        act()
        expect(said, fault).to_contain_text(sentence)
        what = sentence.partition(".")[0]
        assert any(what in text for text in console), fault  # with where it happened
        page.unroute(route)
        log_in(page, served)
        act()
        works()
        expect(said, fault).not_to_contain_text(sentence)
    expect(page.get_by_role("banner")).to_have_count(1)


def test_the_graph(page: Page, guarded: Served, run: dict[str, str]) -> None:
    def works() -> None:
        Explorer(page)

    faults = {**FAULTS, **DAMAGED}
    del faults["login ended"]  # then the page itself leads to the login
    for route in ("**/links", "**/explorer"):
        fails_in_turn(
            page, guarded, route, lambda: page.goto(run["graph"]), page.locator(".panes"), works,
            faults,
        )  # fmt: skip


def test_a_text(page: Page, guarded: Served, run: dict[str, str]) -> None:
    page.goto(f"{run['graph']}?panes=source,post_grad")
    Explorer(page)
    pane = page.locator(".pane").last
    texts = "**/api/artifacts/*/text"
    for fault, (answer, sentence) in FAULTS.items():
        page.route(texts, answer)
        if fault == "login ended":
            page.context.clear_cookies()
        if fault == "offline":
            pane.locator("select.stage").select_option("code")
        else:
            pane.get_by_role("button", name="Try again").click()
        expect(pane).to_contain_text("The text could not be shown.")
        expect(pane).to_contain_text(sentence)
        page.unroute(texts)
    log_in(page, guarded)
    pane.get_by_role("button", name="Reload").click()
    expect(pane.locator(".cm-line").first).to_be_visible()


def test_a_part_of_the_program_that_a_newer_server_lacks(page: Page, run: dict[str, str]) -> None:
    page.goto(f"{run['graph']}?panes=source,post_grad")
    Explorer(page)
    pane = page.locator(".pane").last
    page.route("**/drawing-*.js", lambda route: route.fulfill(status=404))
    pane.locator("select.stage").select_option("picture")
    expect(pane).to_contain_text("A part of this page cannot be loaded. The server has a newer")
    page.unroute("**/drawing-*.js")
    pane.get_by_role("button", name="Reload").click()
    expect(pane.locator(".picture canvas")).to_be_visible()


def test_a_mistake_of_the_page_is_called_one(page: Page, run: dict[str, str]) -> None:
    console: list[str] = []
    page.on("console", lambda message: console.append(message.text))
    page.route("**/links", lambda route: route.fulfill(json={"stages": []}))
    page.goto(run["graph"])
    expect(page.get_by_role("alert")).to_contain_text("This page made a mistake (")
    assert any("TypeError" in text for text in console)


@pytest.mark.parametrize(
    ("route", "where", "faults"),
    [
        ("**/api/**/timeline?**", "[data-part=status]", FAULTS | DAMAGED),
        ("**/runs/*/timeline?**", "#timeline-panels", FAULTS),
    ],
    ids=["bars", "panels"],
)
def test_the_timeline(
    page: Page, guarded: Served, run: dict[str, str], route: str, where: str, faults: Faults
) -> None:
    page.goto(run["timeline"])
    expect(page.get_by_test_id("device-sums")).to_be_visible()
    panel = page.locator("#timeline-panels section").first
    canvas = page.get_by_label("Events over time")
    fails_in_turn(
        page, guarded, route, lambda: canvas.press("w"), page.locator(where),
        lambda: expect(panel).to_be_visible(), faults,
    )  # fmt: skip


def test_choosing_another_run(page: Page, guarded: Served, run: dict[str, str]) -> None:
    page.goto(run["beside"])
    chooser = page.locator("[data-side=right] select.run")

    def works() -> None:
        page.wait_for_url(lambda address: address != run["beside"])
        expect(chooser.locator("option:checked")).to_have_text("dynamic")
        page.goto(run["beside"])
        expect(page.locator("#beside[data-ready=true]")).to_be_attached()

    expect(page.locator("#beside[data-ready=true]")).to_be_attached()
    fails_in_turn(
        page, guarded, "**/api/runs/*", lambda: chooser.select_option("dynamic"),
        page.locator("#status"), works, FAULTS | DAMAGED,
    )  # fmt: skip


def test_copying_markdown(page: Page, guarded: Served, run: dict[str, str]) -> None:
    address = f"{guarded.url}/"
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(address)
    said = page.locator("#said")
    fails_in_turn(
        page, guarded, address, lambda: page.locator("#as-markdown").dispatch_event("click"),
        said, lambda: expect(said).to_have_text("Markdown copied."),
    )  # fmt: skip


def test_a_part_of_a_page(page: Page, guarded: Served) -> None:
    page.goto(f"{guarded.url}/")
    said = page.locator("#said")
    by_name = page.locator("#runs th a").first
    page.route("**/?*", lambda route: route.abort())
    by_name.click()
    expect(said).to_have_text("The server cannot be reached. Check that it runs, then try again.")
    page.unroute("**/?*")
    by_name.click()
    expect(page.locator("#runs th[aria-sort]").first).to_contain_text("Run")


def test_a_part_of_a_page_is_never_the_login(page: Page, guarded: Served) -> None:
    page.goto(f"{guarded.url}/")
    page.context.clear_cookies()
    page.locator("#runs th a").first.click()
    page.wait_for_url(re.compile("/login"))
    expect(page.get_by_role("banner")).to_have_count(1)
