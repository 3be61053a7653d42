"""The pages of a run over a line of 10 Mbit/s and 80 ms, in a browser that has nothing kept.

    python -m bench.slow_line FOLDER [--times 3] [--only overview,explorer]

The folder is read once, by a server that has answered each page before. Medians of: the first
content, and when the page can be used (for the explorer and the timeline, that their texts and bars
are there; for others, that the page has loaded). Beside them the bytes as sent, the requests, and
the longest task of the page's scripts, the shortest of all times, since other work on the machine
only makes it longer.
"""

import argparse
import statistics
import tempfile
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Browser, sync_playwright

from bench.first_pages import made, pages
from tests.support.chromium import arguments, executable
from tests.support.serving import serve

BYTES_PER_S, LATENCY_MS = 10e6 / 8, 80
FIRST_S, USABLE_S = 0.8, 1.5
"""What the first content and a page that can be used may take."""
WATCH = """
window.tasks = [0];
new PerformanceObserver((list) => window.tasks.push(...list.getEntries().map((e) => e.duration)))
  .observe({ type: "longtask", buffered: true });
"""
PAINTED = """() => new Promise((done) => {
  const look = () => {
    const [found] = performance.getEntriesByName("first-contentful-paint");
    if (found) done(found.startTime / 1000);
    else setTimeout(look, 10);
  };
  look();
})"""
READY = {
    "explorer": "#explorer[data-ready=true]",
    "beside": "#beside[data-ready=true]",
    "timeline": "[data-testid=device-sums]",
}


def visit(browser: Browser, address: str, ready: str) -> tuple[float, float, float, int, float]:
    """Seconds to the first content and until the page can be used, kB, requests, the longest
    task in ms."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.add_init_script(WATCH)
    line = context.new_cdp_session(page)
    line.send("Network.enable")
    line.send("Network.emulateNetworkConditions", {
        "offline": False, "latency": LATENCY_MS, "downloadThroughput": BYTES_PER_S,
        "uploadThroughput": BYTES_PER_S,
    })  # fmt: skip
    sizes: list[float] = []

    def came(event: dict[str, Any]) -> None:
        sizes.append(event["encodedDataLength"])

    line.on("Network.loadingFinished", came)
    page.goto(address)
    if ready:
        page.locator(ready).first.wait_for(state="attached")
    usable = page.evaluate("() => performance.now() / 1000")
    first = page.evaluate(PAINTED)
    page.wait_for_load_state("networkidle")
    longest = page.evaluate("() => Math.max(...window.tasks)")
    context.close()
    return first, usable, sum(sizes) / 1000, len(sizes), longest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--only", help="names of pages, with commas")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        data = Path(folder) / "data"
        (run,) = made([options.folder], data, aligned=True)
        where = {"runs": "/", **pages(data, run)}
        browser = playwright.chromium.launch(executable_path=executable(), args=arguments())
        browser.new_context().close()
        with serve(data, "--workers", "0") as served:
            for name, path in where.items():
                if options.only and name not in options.only.split(","):
                    continue
                httpx.get(served.url + path, timeout=60).raise_for_status()
                each = [
                    visit(browser, served.url + path, READY.get(name, ""))
                    for _ in range(options.times)
                ]
                first, usable, kilobytes, requests, _ = map(
                    statistics.median, zip(*each, strict=True)
                )
                longest = min(row[-1] for row in each)
                over = " over" if first > FIRST_S or usable > USABLE_S else ""
                print(
                    f"{name:16} {first:5.2f} s first, {usable:5.2f} s usable, {kilobytes:5.0f} kB "
                    f"in {requests:.0f}, longest task {longest:4.0f} ms{over}",
                    flush=True,
                )
        browser.close()


if __name__ == "__main__":
    main()
