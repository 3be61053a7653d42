"""Size of exported files and time until they show code, in a browser without a network.

    python -m bench.export RUN.html …

Each file is opened from the disk, and its explorer opened from there; then a line is selected. The
best of several times, since other work on the machine only makes them longer.
"""

import sys
import time
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from tests.support.chromium import arguments, executable

TIMES = 3
READY = "#explorer[data-ready=true]"


def opened(browser: Browser, file: Path) -> tuple[float, float, float]:
    """Seconds until the file shows its first page, until its explorer does, and until a line that
    is clicked is selected."""
    context = browser.new_context(offline=True)
    page = context.new_page()
    start = time.perf_counter()
    page.goto(file.absolute().as_uri())
    page.locator("h1").first.wait_for(state="attached")
    first = time.perf_counter() - start
    link = page.get_by_role("link", name="Explorer", exact=True)
    if not page.locator("#explorer").count():
        address = link.get_attribute("href")
        start = time.perf_counter()
        page.goto("about:blank")
        page.goto(f"{file.absolute().as_uri()}#{address}")
    page.locator(READY).wait_for()
    code = time.perf_counter() - start
    start = time.perf_counter()
    page.locator(".pane .cm-line").nth(3).click()
    page.wait_for_function("location.hash.includes('sel=')")
    selected = time.perf_counter() - start
    context.close()
    return first, code, selected


def main(files: list[str]) -> None:
    with sync_playwright() as playwright:
        print("| run | file | first page | explorer ready | line selected |")
        print("|---|---|---|---|---|")
        browser = playwright.chromium.launch(executable_path=executable(), args=arguments())
        for file in map(Path, files):
            times = [opened(browser, file) for _ in range(TIMES)]
            best = (f"{min(took):.2f} s" for took in zip(*times, strict=True))
            print(
                "|", " | ".join([file.stem, f"{file.stat().st_size / 2**20:.2f} MiB", *best]), "|"
            )
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
