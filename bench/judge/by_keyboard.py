"""Ten edits of a C++ kernel by keyboard, in Chromium: seconds from Ctrl-Enter to the verdict.

python -m bench.judge.by_keyboard

A watch outside of the page counts. Use an idle machine.
"""

import statistics
import tempfile
import time
from pathlib import Path

import httpx
from inductorscope.cli.local import read_paths
from inductorscope.settings import Settings
from playwright.sync_api import Page, sync_playwright

from bench.judge.subject import FOLDER, cases, definition
from tests.support.chromium import arguments, executable
from tests.support.explorer import graph_address
from tests.support.serving import serve

EDITS = (
    ("tmp7 = float(tmp3 + tmp6)", "tmp7 = float(tmp6 + tmp3)"),
    ("static_cast<float>(0.5)", "0.5f"),
    ("std::exp(-tmp0)", "std::exp(-1.0f * tmp0)"),
    ("float(tmp1 * tmp2)", "float(tmp2 * tmp1)"),
    ("std::abs(tmp0)", "std::fabs(tmp0)"),
    ("std::exp(-tmp0)", "std::exp(tmp0)"),
    ("static_cast<float>(0.5)", "0.75f"),
    ("auto tmp7 =", "auto tmp7 = missing +"),
    ("max_propagate_nan(tmp_acc0, tmp0)", "std::max(tmp_acc0, tmp0)"),
    ("x1<static_cast<int64_t>(ks0)", "x1<ks0"),
)
"""What is replaced in the original, and by what: seven that are right, and three that are not."""
PATIENCE_S = 120.0


def kernel_page(url: str) -> str:
    graph = graph_address(url, "judged").removeprefix(url)
    kernel = httpx.get(f"{url}/api{graph}/explorer").json()["kernels"][0]
    return f"{graph}/kernels/{kernel['name']}:{kernel['calls'][0]['handle']}"


def attempt(page: Page) -> str:
    return page.get_by_test_id("verdict").get_attribute("data-attempt") or ""


def edit(page: Page, text: str) -> tuple[float, str]:
    """Types the text in place of what is there; returns the seconds and the verdict."""
    shown = attempt(page)
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)
    began = time.perf_counter()
    page.keyboard.press("Control+Enter")
    while attempt(page) == shown:  # the browser's own waiting looks twice in a second
        if time.perf_counter() - began > PATIENCE_S:
            raise TimeoutError(page.locator(".judge-status").inner_text())
        page.wait_for_timeout(20)
    took = time.perf_counter() - began
    return took, page.locator(".verdict .chip").first.inner_text()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data=Path(folder, "data"), database_url="")
        read_paths(
            settings, [FOLDER], name="judged", tags=[], origin="capture", progress=lambda *_: None
        )
        with serve(settings.data, "--workers", "0") as served, sync_playwright() as playwright:
            path = kernel_page(served.url)
            httpx.post(f"{served.url}/api{path}/judge", json={"code": ""}, timeout=240)
            browser = playwright.chromium.launch(executable_path=executable(), args=arguments())
            page = browser.new_page()
            page.set_default_timeout(1000 * PATIENCE_S)
            page.goto(f"{served.url}{path}")
            page.get_by_role("link", name="Edit").press("Enter")
            page.wait_for_selector(".cm-content")
            original = definition(cases()[0]).split("'''")[1].strip()
            times = []
            for old, new in EDITS:
                assert old in original, old
                took, said = edit(page, original.replace(old, new, 1))
                times.append(took)
                print(f"{took:6.2f} s  {said:13} {old} → {new}")
            print(f"{statistics.median(times):6.2f} s  median")
            browser.close()


if __name__ == "__main__":
    main()
