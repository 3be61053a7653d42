"""An exported run opens from a disk without a network, and goes back as the same run."""

from __future__ import annotations

import lzma
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from inductorscope.cli.local import read_paths
from inductorscope.intake.exported import packed_files
from inductorscope.intake.limits import Limits, Refused
from inductorscope.intake.recognise import recognise
from inductorscope.intake.unpack import unpack
from inductorscope.settings import Settings
from playwright.sync_api import BrowserContext, Page, expect

from tests.support.serving import Served

SECRET = {
    "/home/user/models": "/home/quentin/zebra/models",
    "torch.neg(x1)": "torch.neg(x1)",
    "'9.0a'": "'platypus'",
    "foo1": "walrus",
}
"""What a run's texts hold, and what stands there in the run that is redacted."""
WORDS = ("quentin", "zebra", "torch.neg(x1)", "platypus", "walrus")


@pytest.fixture(scope="module")
def exported(
    tmp_path_factory: pytest.TempPathFactory, fixtures: Path
) -> tuple[str, Path, Path, Settings]:
    """A run's id, its whole file, the file of its explorer alone, and the settings."""
    folder = tmp_path_factory.mktemp("exported")
    settings = Settings(data=folder / "data", database_url="")
    run = _read(settings, fixtures / "cuda-foo1")
    whole, part = folder / "run.html", folder / "part.html"
    _export(settings, run, whole)
    _export(settings, run, part, "--only", "explorer")
    return run, whole, part, settings


def _read(settings: Settings, path: Path) -> str:
    return read_paths(
        settings, [path], name=path.name, tags=[], origin="ingest", progress=lambda *_: None
    ).run_id


def _export(settings: Settings, run: str, file: Path, *options: str) -> str:
    command = [sys.executable, "-m", "inductorscope", "export", run, "-o", str(file), *options]
    command += ["--data", str(settings.data)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def _unpacked(file: Path) -> bytes:
    """All that a file holds, unpacked."""
    held = []
    for size, block in re.findall(rb'data-size="(\d+)">(.*?)</script>', file.read_bytes(), re.S):
        for byte, escape in ((b"<", b"=|"), (b"\r", b"=M"), (b"\0", b"=@"), (b"=", b"=}")):
            block = block.replace(escape, byte)
        filters = [{"id": lzma.FILTER_LZMA1, "lc": 4, "lp": 0, "pb": 0, "dict_size": 1 << 24}]
        unpacker = lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=filters)
        held.append(unpacker.decompress(block, int(size)))
    with file.open("rb") as exported, packed_files(exported, "it") as packed:
        held.append(lzma.decompress(packed.read()))
    return b"".join(held)


def test_a_redacted_file_holds_none_of_the_words(
    tmp_path: Path, fixtures: Path, context: BrowserContext, page: Page
) -> None:
    folder = tmp_path / "walrus"
    shutil.copytree(fixtures / "cuda-foo1", folder)
    for path in folder.rglob("*.*"):
        if path.is_file() and path.suffix != ".gz":
            text = path.read_text()
            for word, secret in SECRET.items():
                text = text.replace(word, secret)
            path.write_text(text)
    settings = Settings(data=tmp_path / "data", database_url="")
    run, file, plain = _read(settings, folder), tmp_path / "red.html", tmp_path / "plain.html"
    _export(settings, run, plain)
    said = _export(settings, run, file, "--redact", "--hide", "walrus", "--hide", "foo1")
    assert "user name: 1" in said
    whole, redacted = (_unpacked(each).lower() for each in (plain, file))
    assert [word for word in WORDS if word.encode() not in whole] == []
    assert [word for word in WORDS if word.encode() in redacted] == []
    assert _read(settings, file) != run
    page.goto(file.as_uri())
    page.get_by_role("button", name="About this file").click()
    expect(page.locator("#file-note")).to_contain_text("another id")
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Explorer", exact=True).click()
    page.locator("#explorer[data-ready=true]").wait_for()
    page.locator("#search").fill("neg")
    page.locator("#palette li").first.wait_for()
    page.keyboard.press("Enter")
    expect(page.locator(".chain-steps")).to_contain_text("models.py:9")


@pytest.fixture(scope="module")
def failed(exported: tuple[str, Path, Path, Settings], fixtures: Path) -> tuple[str, Path]:
    """The id and the file of a run that failed."""
    _, whole, _, settings = exported
    run, file = _read(settings, fixtures / "neg-does-not-compile"), whole.with_name("failed.html")
    _export(settings, run, file)
    return run, file


def test_files_go_back_into_any_server(
    exported: tuple[str, Path, Path, Settings],
    failed: tuple[str, Path],
    settings: Settings,
    server: Served,
) -> None:
    for expected, file in (exported[:2], failed):
        assert _read(settings, file) == expected
        push = [sys.executable, "-m", "inductorscope", "push", str(file), "--server", server.url]
        pushed = subprocess.run([*push, "--json"], check=True, stdout=subprocess.PIPE, text=True)
        assert expected in pushed.stdout


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
