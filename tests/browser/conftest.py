"""A real Chromium on the real server."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from inductorscope.cli.local import read_paths
from inductorscope.settings import Settings
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Error,
    Page,
    expect,
    sync_playwright,
)

from tests.formats.log.test_autotune_tables import SAID, TABLE
from tests.support.accessible import WIDE
from tests.support.chromium import arguments, executable
from tests.support.pages import parts_of
from tests.support.run_kinds import KINDS
from tests.support.serving import Served, serve

expect.set_options(timeout=15_000)  # other processes want the processor too


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(item.fspath).parent == Path(__file__).parent:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    path = executable()
    if path is None:
        pytest.fail("No Chromium found; `make chromium` gets one.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=arguments())
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def tab(chromium: Browser) -> Iterator[Page]:
    """One tab for the tests of a module: it keeps scripts, styles and its process, which are most
    of what opening an explorer costs."""
    context = chromium.new_context()
    yield context.new_page()
    context.close()


@pytest.fixture
def page(tab: Page) -> Iterator[Page]:
    """The tab, as wide as a screen and without cookies. It fails its test on a script error or a
    violated content policy."""
    troubles: list[str] = []

    def erred(error: Error) -> None:
        troubles.append(f"script error: {error}")

    def said(message: ConsoleMessage) -> None:
        if re.search("Content[ -]Security[ -]Policy", message.text):
            troubles.append(message.text)

    tab.on("pageerror", erred)
    tab.on("console", said)
    tab.set_viewport_size(WIDE)
    yield tab
    tab.remove_listener("pageerror", erred)
    tab.remove_listener("console", said)
    tab.unroute_all()
    tab.context.set_offline(False)
    tab.context.clear_permissions()
    tab.goto("about:blank")
    tab.context.clear_cookies()
    tab.emulate_media(color_scheme="light")
    assert not troubles, troubles


@pytest.fixture
def context(page: Page) -> BrowserContext:
    """The context of the tab, with its network and permissions."""
    return page.context


@pytest.fixture(scope="session")
def tutorial(tmp_path_factory: pytest.TempPathFactory, captured_tutorial: Path) -> Iterator[Served]:
    """What `make run` gives on a fresh clone: the tutorial's capture, and no other run."""
    data = tmp_path_factory.mktemp("tutorial") / "data"
    read_paths(
        Settings(data=data, database_url=""), [captured_tutorial], name="neg-maximum-cat", tags=[],
        origin="capture", progress=lambda *_: None,
    )  # fmt: skip
    with serve(data, "--workers", "0") as served:
        yield served


@pytest.fixture(scope="session")
def zoo(tmp_path_factory: pytest.TempPathFactory, fixtures: Path) -> Iterator[Served]:
    """What autotuning printed, a C++ run of many kernels, and the newest: a Triton one that the
    tutorial's function made, profiled. For tests that only look."""
    data = tmp_path_factory.mktemp("zoo") / "data"
    autotuned = tmp_path_factory.mktemp("log") / "autotuned"
    autotuned.write_text(f"{SAID}\n{TABLE}")
    for path in (autotuned, fixtures / "cpu-ops-zoo", fixtures / "cuda-foo1"):
        read_paths(
            Settings(data=data, database_url=""), [path], name=path.name, tags=[],
            origin="ingest", progress=lambda *_: None,
        )  # fmt: skip
    with serve(data, "--workers", "0") as served:
        yield served


@pytest.fixture(scope="session")
def filled(
    tmp_path_factory: pytest.TempPathFactory, fixtures: Path
) -> Iterator[tuple[Served, dict[str, str]]]:
    """A server with runs of several kinds, and what the addresses of their pages consist of."""
    data = tmp_path_factory.mktemp("filled") / "data"
    traces = tmp_path_factory.mktemp("traces")
    KINDS["two traces of one name"](traces)
    names = ("dynamic", "neg-does-not-compile", "cuda-foo1")
    trace, story, failed, run = (
        read_paths(
            Settings(data=data, database_url=""), [folder], name=folder.name, tags=[],
            origin="ingest", progress=lambda *_: None,
        ).run_id
        for folder in (traces, *(fixtures / name for name in names))
    )  # fmt: skip
    with serve(data, "--workers", "0") as served:
        others = {"other": run, "story": story, "failed": failed, "trace": trace, "number": "3"}
        yield served, others | parts_of(served, run)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """An empty server with one worker, which no other tests fill."""
    with serve(tmp_path_factory.mktemp("server") / "data") as served:
        yield served
