"""Times the playground in a browser: from Ctrl-Enter to coloured lines.

    python -m bench.play [--times 7]

Starts a server on an empty folder. Prints the median and all times of functions that a C++ compiler
has to compile, and of edits that leave the graph unchanged.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from tests.browser.test_play import type_code
from tests.support.chromium import arguments, executable
from tests.support.serving import serve

CODE = """import torch

def f(x, y):
    a = x + y
    b = torch.relu(a)
    c = b * {number}
    return c - y

inputs = torch.randn(64, 64), torch.randn(64, 64)
"""
SHOWN = """old => {
  const run = document.querySelector('main.play').dataset.run ?? '';
  return run !== old && document.querySelector('.play-editor .tint') && run;
}"""


def timed(page: Page, code: str) -> float:
    """Seconds from Ctrl-Enter until the lines of the new result have their colours."""
    type_code(page, code)
    before = page.locator("main.play").get_attribute("data-run") or ""
    begin = time.perf_counter()
    page.keyboard.press("Control+Enter")
    page.wait_for_function(SHOWN, arg=before, timeout=120_000, polling="raf")
    return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--times", type=int, default=7)
    times = parser.parse_args().times
    with (
        tempfile.TemporaryDirectory() as folder,
        serve(Path(folder) / "data", "--workers", "0") as served,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=executable(), args=arguments())
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        begin = time.perf_counter()
        page.goto(f"{served.url}/play")
        page.get_by_text("Ready").wait_for(timeout=120_000)
        print(f"torch is there after {time.perf_counter() - begin:.1f} s")
        timed(page, CODE.format(number=1))
        for what, codes in (
            ("four operations, compiled anew", [CODE.format(number=2 + at) for at in range(times)]),
            ("the same graph, edited", [CODE.format(number=2) + f"# {at}" for at in range(times)]),
        ):
            seconds = [timed(page, code) for code in codes]
            every = " ".join(f"{took:.2f}" for took in seconds)
            print(f"{what}: median {statistics.median(seconds):.2f} s ({every})")


if __name__ == "__main__":
    main()
