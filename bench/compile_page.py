"""The pages of a log with thousands of compiles, in a browser, beside tlparse's index of it.

    python -m bench.compile_page [--megabytes 110] [--times 3]

The log is copies of a small real one with fresh ids (bench/replicate.py). Measured in Chromium,
from asking for a page to its first row being there, and from a key to the rows it leaves; the best
of several times, since other work on the machine only makes them longer. tlparse's index is opened
from the disk, without a server.
"""

import argparse
import gzip
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

from bench.peers import tlparse
from bench.replicate import replicate
from tests.support.chromium import arguments, executable
from tests.support.places import FIXTURES, ROOT
from tests.support.serving import serve

WORK = ROOT / "bench" / "work"
PATIENCE_MS = 40_000


def log_of(megabytes: int) -> Path:
    """Copies of the program with graph breaks and recompiles, up to a size; made once."""
    target = WORK / f"compiles-{megabytes}mb.log"
    if not target.exists():
        WORK.mkdir(exist_ok=True)
        (packed,) = (FIXTURES / "dynamic" / "torch_trace").iterdir()
        with tempfile.TemporaryDirectory() as folder:
            plain = Path(folder) / "dynamic.log"
            plain.write_bytes(gzip.decompress(packed.read_bytes()))
            replicate([plain], target, megabytes * 10**6, own_codes=False)
    return target


def best(times: int, measured: Callable[[], float]) -> float:
    return min(measured() for _ in range(times))


def opened(browser: Browser, address: str, row: str) -> float:
    """Seconds from asking for an address, with nothing kept from before, to its first row."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    started = time.perf_counter()
    page.goto(address, wait_until="commit", timeout=PATIENCE_MS)
    page.locator(row).first.wait_for(state="visible", timeout=PATIENCE_MS)
    took = time.perf_counter() - started
    context.close()
    return took


def until_changed(page: Page, rows: str, act: Callable[[], None]) -> float:
    """Seconds from an action to the first row being another one."""
    before = page.locator(rows).first.inner_text()
    started = time.perf_counter()
    act()
    expect(page.locator(rows).first).not_to_have_text(before, timeout=PATIENCE_MS)
    return time.perf_counter() - started


def ours(browser: Browser, url: str, times: int) -> None:
    pages = {
        "story": ("/compile", "[data-testid=story] li"),
        "list of compiles": ("/compile/list", "[data-testid=compiles] tbody tr"),
        "time": ("/compile/time", "[data-testid=phases] tbody tr"),
        "stacks": ("/compile/stacks", "main li"),
        "one compile": ("/compile/100", "main h2"),
        "log records": ("/log", "main table tbody tr"),
    }
    for name, (path, row) in pages.items():
        took = best(times, lambda path=path, row=row: opened(browser, url + path, row))  # type: ignore[misc]
        print(f"{name:20} {took:8.2f} s to the first row", flush=True)
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    rows = "[data-testid=compiles] tbody tr"
    page.goto(f"{url}/compile/list")
    field = page.get_by_label("Filter compiles")
    total = page.locator(rows).first
    total.wait_for()
    for text in ("1", "2", "/1"):
        said = page.locator("main").inner_text()
        started = time.perf_counter()
        field.press_sequentially(text)
        page.wait_for_function(
            "before => document.querySelector('main').innerText !== before", arg=said
        )
        print(f"typing {text!r:13} {time.perf_counter() - started:8.2f} s to other rows")
    field.fill("")
    page.wait_for_timeout(1000)
    took = until_changed(page, rows, lambda: page.locator("a[rel=next]").click())
    print(f"{'next page':20} {took:8.2f} s")
    page.close()


def theirs(browser: Browser, log: Path, times: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        command = [os.fspath(tlparse()), "--no-browser", "-o", os.fspath(out), os.fspath(log)]
        subprocess.run(command, check=True, capture_output=True)
        index = out / "index.html"
        size = index.stat().st_size
        took = best(times, lambda: opened(browser, index.as_uri(), "a:visible"))
        page = browser.new_page()
        started = time.perf_counter()
        page.goto(index.as_uri(), wait_until="load", timeout=PATIENCE_MS)
        whole = time.perf_counter() - started
        links = page.locator("a").count()
        page.close()
        print(f"tlparse's index      {took:8.2f} s to the first row, {whole:.2f} s to all of it")
        print(f"                     {size / 1e6:8.1f} MB, {links:,} links, no filter, one page")
        shutil.rmtree(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=110)
    parser.add_argument("--times", type=int, default=3)
    options = parser.parse_args()
    log = log_of(options.megabytes)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        data = Path(folder) / "data"
        command = [sys.executable, "-m", "inductorscope", "ingest", "--data", str(data), str(log)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        run = done.stdout.split()[1]
        print(f"{log.stat().st_size / 1e6:.0f} MB: {done.stdout.splitlines()[0]}", flush=True)
        browser = playwright.chromium.launch(executable_path=executable(), args=arguments())
        with serve(data, "--workers", "0") as served:
            ours(browser, f"{served.url}/runs/{run}", options.times)
        theirs(browser, log, options.times)
        browser.close()


if __name__ == "__main__":
    main()
