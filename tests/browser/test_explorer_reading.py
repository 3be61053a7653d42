"""The explorer of a graph whose run is still being read."""

from collections.abc import Iterator

import pytest
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine, sessions
from playwright.sync_api import Page, expect

from tests.support.explorer import Explorer
from tests.support.half_read import HalfRead
from tests.support.serving import Served


@pytest.fixture
def half(server: Served) -> Iterator[HalfRead]:
    """A run on the server, as far as a test reads it."""
    engine = make_engine(Settings(data=server.data, database_url=""))
    reading = HalfRead(sessions(engine), "half read, explored")
    yield reading
    reading.finish()
    engine.dispose()


def test_it_says_what_is_read_and_shows_kernels_when_they_come(
    page: Page, server: Served, half: HalfRead
) -> None:
    half.lay_out()
    page.goto(f"{server.url}/runs/{half.id}/graphs/forward?panes=kernel,wrapper")
    Explorer(page)
    kernel = page.locator("[data-stage=kernel]")
    expect(kernel).to_contain_text("The kernels of this graph are still being read.")
    expect(kernel).to_contain_text("They appear here as soon as they are read")

    half.link_one()
    expect(page.locator("[data-kernel=triton_poi_fused_mul_0]")).to_be_visible(timeout=15_000)
    expect(page.locator("[data-stage=kernel] .cm-line").first).to_be_visible()
