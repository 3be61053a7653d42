"""Dropping things on the page: folder, zip and tar.zst of one folder are one and the same run."""

import io
import json
import re
import tarfile
import zipfile
from pathlib import Path

import pytest
import zstandard
from playwright.sync_api import Page, expect

from tests.support.serving import Served

READ_MS = 120_000


def drop(page: Page, path: Path) -> None:
    """Drop a real file or folder on the page, as the desktop does."""
    session = page.context.new_cdp_session(page)
    data = {"items": [], "files": [str(path)], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        session.send("Input.dispatchDragEvent", {"type": kind, "x": 300, "y": 300, "data": data})


def dropped_run(page: Page, server: Served, path: Path) -> str:
    """Drop, wait until it is read, and return the run's address."""
    page.goto(server.url)
    drop(page, path)
    link = page.locator("[data-testid=upload-result] a[href*='/runs/']")
    expect(link).to_be_visible(timeout=READ_MS)
    return str(link.get_attribute("href"))


def zipped(folder: Path, into: Path) -> Path:
    with zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*")):
            archive.write(file, file.relative_to(folder.parent))
    return into


def tarred(folder: Path, into: Path) -> Path:
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as archive:
        archive.add(folder, folder.name)
    into.write_bytes(zstandard.ZstdCompressor().compress(plain.getvalue()))
    return into


def test_folder_zip_and_tar_are_one_run(
    page: Page, server: Served, fixtures: Path, tmp_path: Path
) -> None:
    folder = fixtures / "cuda-foo1"
    first = dropped_run(page, server, folder)
    again = dropped_run(page, server, zipped(folder, tmp_path / "a.zip"))
    expect(page.locator("[data-testid=upload-result]")).to_contain_text("already")
    once_more = dropped_run(page, server, tarred(folder, tmp_path / "b.tar.zst"))
    assert first == again == once_more

    page.goto(server.url + first)
    graphs = page.locator("[data-testid=graphs] a[href*='/graphs/']")
    (path,) = {str(link.get_attribute("href")).partition("?")[0] for link in graphs.all()}
    assert path == f"{first}/graphs/model__0_inference_0.0"
    kernels = page.request.get(f"{server.url}/api{path}/explorer").json()["kernels"]
    times = [kernel["time_us"] for kernel in kernels if kernel["time_us"] is not None]
    assert times
    assert times == sorted(times, reverse=True)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("empty.zip", b"", "empty"),
        ("half.zip", b"PK\x03\x04half of an archive", "half.zip"),
        ("notes.txt", b"dear diary", "nothing"),
    ],
)
def test_what_cannot_be_read_is_said_in_a_sentence(
    page: Page, server: Served, tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    before = json.loads(page.request.get(f"{server.url}/api/").text())["total"]
    page.goto(server.url)
    drop(page, file)
    problem = page.locator("[data-testid=upload-problem]")
    expect(problem).to_be_visible(timeout=READ_MS)
    expect(problem).to_contain_text(re.compile(said, re.IGNORECASE))
    assert json.loads(page.request.get(f"{server.url}/api/").text())["total"] == before


def test_html_in_names_and_comments_stays_text(
    page: Page, server: Served, fixtures: Path, tmp_path: Path
) -> None:
    """A trace whose kernel names and comments hold markup shows it, and runs none of it."""
    hostile = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    source = next((fixtures / "cuda-foo1").rglob("model__0_inference_0.0"))
    target = tmp_path / "<b>bold" / "model__0_inference_0.0"
    target.mkdir(parents=True)
    for file in source.iterdir():
        text = file.read_text()
        text = text.replace("in foo1, code: a = ", f"in foo1, code: {hostile} a = ")
        text = text.replace("# Graph fragment:", f"# Graph fragment: {hostile}")
        text = text.replace("'triton_poi_fused_maximum_neg_0'", "'triton_<u>poi_neg_0'")
        (target / file.name).write_text(text)
    page.on("dialog", lambda dialog: pytest.fail(f"a script ran: {dialog.message}"))
    run = dropped_run(page, server, tmp_path / "<b>bold")
    for path in (run, f"{run}/graphs/model__0_inference_0.0", f"{run}/time", f"{run}/read"):
        answer = page.goto(server.url + path)
        assert answer
        policy = answer.headers["content-security-policy"]
        assert "script-src 'self'" in policy
        assert "unsafe-inline" not in policy
        assert page.locator("img[src=x], main b b, u").count() == 0
