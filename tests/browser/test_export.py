"""An exported run opens from a disk without a network, and goes back as the same run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from inductorscope.cli.local import read_paths
from inductorscope.intake.limits import Limits, Refused
from inductorscope.intake.recognise import recognise
from inductorscope.intake.unpack import unpack
from inductorscope.settings import Settings
from playwright.sync_api import BrowserContext, Page, expect


@pytest.fixture(scope="module")
def exported(
    tmp_path_factory: pytest.TempPathFactory, fixtures: Path
) -> tuple[str, Path, Path, Settings]:
    """A run's id, its whole file, the file of its explorer alone, and the settings."""
    folder = tmp_path_factory.mktemp("exported")
    settings = Settings(data=folder / "data", database_url="")
    run = read_paths(
        settings, [fixtures / "cuda-foo1"], name="foo1", tags=[], origin="ingest",
        progress=lambda step, done, total, unit: None,
    ).run_id  # fmt: skip
    whole, part = folder / "run.html", folder / "part.html"
    for file, options in ((whole, []), (part, ["--only", "explorer"])):
        command = [sys.executable, "-m", "inductorscope", "export", run, "-o", str(file)]
        subprocess.run([*command, "--data", str(settings.data), *options], check=True)
    return run, whole, part, settings


def test_a_file_is_read_as_the_same_run(
    exported: tuple[str, Path, Path, Settings], tmp_path: Path
) -> None:
    run, whole, part, settings = exported
    limits = Limits.of(settings)
    unpack(whole, tmp_path / "back", limits)
    assert recognise(tmp_path / "back").content_digest.startswith(run)
    damaged = tmp_path / "damaged.html"
    damaged.write_bytes(whole.read_bytes()[:-9000])
    long_line = tmp_path / "long.html"
    long_line.write_bytes(whole.read_bytes()[:41] + b"9" * 4000)
    for file in (part, damaged, long_line):
        with pytest.raises(Refused):
            unpack(file, tmp_path / file.stem, limits)


def test_a_file_opens_from_disk_without_a_network(
    exported: tuple[str, Path, Path, Settings], context: BrowserContext, page: Page
) -> None:
    run, whole, part, _ = exported
    context.set_offline(True)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(whole.as_uri())
    page.get_by_role("link", name="Explorer", exact=True).click()
    page.locator("#explorer[data-ready=true]").wait_for()
    page.locator("#search").fill("neg")
    expect(page.locator("#palette li").first).to_be_visible()
    page.keyboard.press("Enter")
    page.wait_for_function("location.hash.includes('sel=')")
    link = page.url
    page.get_by_role("link", name="Time", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Time")
    page.get_by_label("Pages of this run").get_by_role("link", name="Timeline").click()
    expect(page.locator("#said")).to_contain_text("not in the file")
    page.goto("about:blank")
    page.goto(link)
    page.locator("#explorer[data-ready=true]").wait_for()
    expect(page.locator(".status .what")).to_contain_text("neg")
    page.goto(part.as_uri())
    page.locator("#explorer[data-ready=true]").wait_for()
    assert not [url for url in asked if url.startswith("http")]
    assert run in link
