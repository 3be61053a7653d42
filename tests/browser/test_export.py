"""An exported run opens from a disk without a network, and goes back as the same run."""

import lzma
import re
import shutil
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import httpx
import pytest
from inductorscope.answers.missing import NotHere
from inductorscope.cli.local import read_paths
from inductorscope.intake.exported import packed_files
from inductorscope.intake.limits import Limits, Refused
from inductorscope.intake.recognise import recognise
from inductorscope.intake.unpack import unpack
from inductorscope.settings import Settings
from inductorscope.store.who import OWNER
from inductorscope_server.export.export import Wanted, export_from
from inductorscope_server.web.app import create_app
from playwright.sync_api import Page, expect

from tests.conftest import ON_SQLITE
from tests.support.running import run as run_command
from tests.support.serving import Served

SECRET = {
    "/home/user/models": "/home/quentin/zebra/models",
    "torch.neg(x1)": "torch.neg(x1)",
    "'9.0a'": "'platypus'",
    "foo1": "walrus",
}
"""What a run's texts hold, and what stands there in the run that is redacted."""
WORDS = ("quentin", "zebra", "torch.neg(x1)", "platypus", "walrus")

Exporting = Callable[[str], Path]
WHOLE, FAILED = "/runs/{run}", "/runs/{failed}"
GRAPH = "/runs/{run}/graphs/{slug}"


@pytest.fixture(scope="module")
def exported(
    filled: tuple[Served, dict[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Exporting]:
    """Exports a page of the runs that many tests share, once; ` alone` after the address of a run
    leaves all but its explorers out."""
    served, where = filled
    explorer = httpx.get(f"{served.url}/api{GRAPH.format(**where)}/explorer", timeout=30).json()
    where = {**where, "permalink": explorer["kernels"][0]["calls"][0]["permalink"]}
    app = create_app(Settings(data=served.data, database_url=""))
    folder = tmp_path_factory.mktemp("exported")

    @cache
    def export(page: str) -> Path:
        file = folder / (re.sub(r"\W+", "-", page) + ".html")
        address, _, alone = page.format(**where).partition(" ")
        # In a thread: browser tests leave an event loop in theirs.
        with ThreadPoolExecutor(1) as pool:
            wanted = Wanted(explorer=alone != "")
            pool.submit(export_from, app, OWNER, address, file, wanted).result()
        return file

    yield export
    app.state.parts.close()


@pytest.fixture
def offline(page: Page) -> Iterator[Page]:
    """The tab without a network, which it must not ask for."""
    asked: list[str] = []
    page.context.set_offline(True)
    page.on("request", lambda request: asked.append(request.url))
    yield page
    assert not [url for url in asked if url.startswith("http")]


def _read(settings: Settings, path: Path) -> str:
    return read_paths(
        settings, [path], name=path.name, tags=[], origin="ingest", progress=lambda *_: None
    ).run_id


def _unpacked(file: Path) -> bytes:
    """All that a file holds, unpacked."""
    held = []
    for block in re.findall(rb'class="block">(.*?)</script>', file.read_bytes(), re.S):
        for byte, escape in ((b"<", b"=|"), (b"\r", b"=M"), (b"\0", b"=@"), (b"=", b"=}")):
            block = block.replace(escape, byte)
        held.append(zlib.decompress(block, -zlib.MAX_WBITS))
    with file.open("rb") as exported, packed_files(exported, "it") as packed:
        held.append(lzma.decompress(packed.read()))
    return b"".join(held).lower()


def _walk(page: Page) -> None:
    """Finds a node in the explorer and selects it."""
    page.locator("#explorer[data-ready=true]").wait_for()
    page.locator("#find").fill("neg")
    page.locator("#palette li").first.wait_for()
    page.keyboard.press("Enter")
    expect(page.locator(".chain-steps")).to_contain_text("models.py:9")


def test_a_redacted_file_holds_none_of_the_words(
    tmp_path: Path, fixtures: Path, exported: Exporting, offline: Page
) -> None:
    folder, file = tmp_path / "walrus", tmp_path / "red.html"
    shutil.copytree(fixtures / "cuda-foo1", folder)
    for path in folder.rglob("*.*"):
        if path.is_file() and path.suffix != ".gz":
            text = path.read_text()
            for word, secret in SECRET.items():
                text = text.replace(word, secret)
            path.write_text(text)
    settings = Settings(data=tmp_path / "data", database_url="")
    run = _read(settings, folder)
    command = [sys.executable, "-m", "inductorscope", "export", run, "-o", str(file), "--redact"]
    command += ["--hide", "walrus", "--hide", "foo1", "--data", str(settings.data)]
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    assert "user name: 1" in said
    whole, redacted = _unpacked(exported(WHOLE)), _unpacked(file)
    assert [word for word in SECRET if word.encode() not in whole] == []
    assert [word for word in WORDS if word.encode() in redacted] == []
    unpack(file, tmp_path / "back", Limits.of(settings))
    assert not recognise(tmp_path / "back").content_digest.startswith(run)
    offline.goto(file.as_uri())
    offline.get_by_role("button", name="About this file").click()
    expect(offline.locator("#file-note")).to_contain_text("another id")
    offline.keyboard.press("Escape")
    offline.get_by_role("link", name="Explorer", exact=True).click()
    _walk(offline)


@ON_SQLITE
def test_files_go_back_as_the_same_runs(
    exported: Exporting, filled: tuple[Served, dict[str, str]], settings: Settings
) -> None:
    for page, run in ((WHOLE, "run"), (FAILED, "failed")):
        assert _read(settings, exported(page)) == filled[1][run]


def test_a_file_is_pushed_to_another_server_and_exported_there(
    exported: Exporting, filled: tuple[Served, dict[str, str]], server: Served
) -> None:
    run, file = filled[1]["failed"], str(exported(FAILED))
    pushed = run_command("push", file, "--server", server.url, "--json")
    assert run in pushed.stdout, pushed.stderr
    held = httpx.get(f"{server.url}/api/runs/{run}/export?preview=true", timeout=60).text
    assert re.match(r"Preview: \d+ pages, \d+\WKiB\.\n", held)


def test_a_file_is_read_as_the_same_run(
    exported: Exporting, filled: tuple[Served, dict[str, str]], tmp_path: Path
) -> None:
    limits = Limits.of(Settings(data=tmp_path, database_url=""))
    whole, part = exported(WHOLE), exported(f"{WHOLE} alone")
    unpack(whole, tmp_path / "back", limits)
    assert recognise(tmp_path / "back").content_digest.startswith(filled[1]["run"])
    damaged = tmp_path / "damaged.html"
    damaged.write_bytes(whole.read_bytes()[:-9000])
    long_line = tmp_path / "long.html"
    long_line.write_bytes(whole.read_bytes()[:41] + b"9" * 4000)
    for file in (part, damaged, long_line):
        with pytest.raises(Refused):
            unpack(file, tmp_path / file.stem, limits)
    with pytest.raises(NotHere):
        exported(f"{WHOLE}/graphs/none")


def test_a_run_opens_from_disk_without_a_network(exported: Exporting, offline: Page) -> None:
    offline.goto(exported(WHOLE).as_uri())
    offline.get_by_role("link", name="Explorer", exact=True).click()
    _walk(offline)
    link = offline.url
    offline.get_by_role("link", name="Time", exact=True).click()
    expect(offline.get_by_role("heading", level=1)).to_contain_text("Time")
    offline.locator(".main-svg").first.wait_for()
    timeline = offline.get_by_label("Views of Time").get_by_role("link", name="Timeline")
    expect(timeline).to_have_class("lacks")
    timeline.click()
    expect(offline.locator("#said")).to_contain_text("not in the file")
    offline.goto("about:blank")
    offline.goto(link)
    offline.locator("#explorer[data-ready=true]").wait_for()
    expect(offline.locator(".status .what")).to_contain_text("neg")
    offline.goto("about:blank")
    offline.goto(f"{link.partition('?')[0]}?panes=picture,post_grad&around=1&sel=fx:neg")
    expect(offline.locator(".picture-node h2")).to_have_text("neg")


@pytest.mark.parametrize(
    ("address", "has", "link", "leads_to"),
    [
        (f"{WHOLE} alone", "#explorer[data-ready=true]", "", ""),
        (f"{GRAPH}/kernels/{{kernel}}", "main code:text('triton_')", "Open in the explorer",
         ".status .what:has-text('triton_')"),
        ("/k/{permalink}", "#explorer[data-ready=true] [data-stage=kernel]", "", ""),
        ("/compare/{run}/{failed}", "h1:text('What changed')", "FX graphs",
         "#beside[data-ready=true]"),
        (FAILED, "h1:text('neg-does-not-compile')", "Failures", "article.failure"),
    ],
    ids=["explorer", "kernel", "permalink", "comparison", "failure"],
)  # fmt: skip
def test_a_page_opens_from_disk_without_a_network(
    exported: Exporting, offline: Page, address: str, has: str, link: str, leads_to: str
) -> None:
    offline.goto(exported(address).as_uri())
    offline.locator(has).first.wait_for()
    if link:
        offline.get_by_role("link", name=link).first.click()
        offline.locator(leads_to).first.wait_for()
