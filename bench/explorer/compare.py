"""How fast the explorer opens and selects, beside tlparse's provenance page on the same graph.

    python -m bench.explorer.compare FOLDER

FOLDER holds a TORCH_COMPILE_DEBUG folder and the TORCH_TRACE log of the same run. The folder is
ingested into a database of its own and served; tlparse (from PyPI, in `bench/.venv`) makes its page
from the log. One Chromium opens both, each time in a fresh context with nothing cached, once it has
made that context: making one keeps both cores of a small machine busy for a second.

Printed for each: time from navigation to the first painted frame that shows a line and in which a
selection answers: the explorer is opened once more, one is made at once there, and the next frame
must show it; tlparse's page is believed. Then time from a selection to the painted frame that shows
it, over the same number of random lines that have links. Beside both stands the processor time of
the page's main thread, which other work on the machine does not lengthen.
"""

import argparse
import contextlib
import functools
import http.server
import json
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, CDPSession, Page, sync_playwright

from tests.support.chromium import arguments, executable
from tests.support.serving import serve

LONGEST_SECONDS = 180
SETTLING_MS = 1200
"""How long the browser gets to finish making a context."""
HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent

IN_PAGE = (HERE / "in_page.js").read_text()
USABLE = {
    "explorer": """(line) => window.bench.watch({
                     isUsable: () => window.inductorscope?.explorer?.ready
                       && document.querySelector(".pane .cm-line"),
                     select: () => line
                       && window.inductorscope.explorer.selectLine("post_grad", line),
                     shows: () => document.querySelector("[data-stage=post_grad] .origin")
                       && document.querySelector("[data-stage=kernel] .lit"),
                   })""",
    "tlparse": """(line) => window.bench.watch({
                    isUsable: () => document.readyState === "complete"
                      && document.querySelector(".editor .line"),
                    select: () => line,
                    shows: () => true,
                  })""",
}
SELECT = {
    "explorer": """(lines) => window.bench.time(lines.map((line) => ({
                     before: () => window.inductorscope.explorer.reveal("post_grad", line),
                     act: () => window.inductorscope.explorer.selectLine("post_grad", line),
                   })))""",
    "tlparse": """(lines) => {
                    const all = document.querySelectorAll("#postGradGraph .line");
                    return window.bench.time(lines.map((line) => ({
                      before: () => all[line - 1].scrollIntoView(),
                      act: () => all[line - 1].click(),
                    })));
                  }""",
}
LINKED = {
    "explorer": """async () => {
                     const url = document.querySelector("#explorer").dataset.linksUrl;
                     const links = await (await fetch(url)).json();
                     const code = new Set(links.stages.code.entities);
                     const { lines, entities } = links.stages.post_grad;
                     return [...new Set(lines.filter((_, at) => code.has(entities[at])))];
                   }""",
    "tlparse": """() => [...document.querySelectorAll("#postGradGraph .line")]
                    .flatMap((line, at) => line.querySelector(".has-match") ? [at + 1] : [])""",
}


@dataclass
class Measured:
    """Milliseconds."""

    usable: list[float]
    selections: list[float]
    lines: int
    """Lines of code that the page holds."""
    usable_cpu: list[float]
    """Processor time of the main thread until the page could be used."""
    selection_cpu: float
    """The same of one selection, its untimed scrolling included."""
    code_lines: int = 0
    """Of these, lines of the output code: they tell which graph tlparse's page is of."""

    def said(self, name: str) -> str:
        usable = statistics.median(self.usable)
        words = f"{name:<10} {self.lines:>7} lines  usable after {usable:>8.0f} ms (median of "
        words += f"{len(self.usable)}: {min(self.usable):.0f} to {max(self.usable):.0f}; "
        words += f"{statistics.median(self.usable_cpu):.0f} ms of processor)"
        if self.selections:
            ordered = sorted(self.selections)
            p95 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]
            words += f"  selection {statistics.median(ordered):>6.1f} ms median, {p95:.1f} ms p95"
            words += f", {ordered[-1]:.0f} ms worst of {len(ordered)}"
            words += f" ({self.selection_cpu:.1f} ms of processor each)"
        else:
            words += "  no line of it is linked, so none can be selected"
        return words


def tlparse() -> Path:
    """tlparse's program, installed from PyPI once."""
    home = ROOT / "bench" / ".venv"
    program = home / "bin" / "tlparse"
    if not program.exists():
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        subprocess.run([home / "bin" / "pip", "install", "--quiet", "tlparse"], check=True)
    return program


def provenance_pages(log: Path, into: Path) -> list[Path]:
    """tlparse's provenance pages of a log, the largest first."""
    command = [tlparse(), log, "--inductor-provenance", "-o", into, "--no-browser"]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    pages = sorted(into.glob("provenance_tracking_*.html"), key=lambda page: -page.stat().st_size)
    if not pages:
        sys.exit(f"tlparse made no provenance page of {log}: {done.stderr[-400:]}")
    return pages


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing for each request."""


@contextlib.contextmanager
def files_served(folder: Path) -> Iterator[str]:
    handler = functools.partial(Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()


def processor(client: CDPSession) -> float:
    """Milliseconds of processor time that the page's main thread has worked."""
    metrics = client.send("Performance.getMetrics")["metrics"]
    return 1000 * float(next(m["value"] for m in metrics if m["name"] == "TaskDuration"))


def opened(browser: Browser, url: str, kind: str, line: int = 0) -> tuple[Page, float, CDPSession]:
    """A fresh page at the address, the milliseconds until it could be used, its meter. A line that
    is given is selected as soon as the page can be used."""
    context = browser.new_context(viewport={"width": 1600, "height": 1000})
    page = context.new_page()
    page.set_default_timeout(LONGEST_SECONDS * 1000)
    client = context.new_cdp_session(page)
    client.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.add_init_script(IN_PAGE + f"\n({USABLE[kind]})({line});")
    page.wait_for_timeout(SETTLING_MS)
    page.goto(url, wait_until="commit")
    return page, usable_at(client), client


def check_answers(browser: Browser, url: str, kind: str, line: int) -> None:
    """Open the page once more, untimed: usable means that a selection made there and then shows."""
    page, _, _ = opened(browser, url, kind, line)
    page.wait_for_function("() => window.bench.answered !== null")
    if not page.evaluate("() => Boolean(window.bench.answered)"):
        sys.exit(f"{url} seemed usable, and did not show a selection in the next frame.")
    page.context.close()


def usable_at(client: CDPSession) -> float:
    """When the page could be used. Asked of the browser itself: what waits in the page, as
    Playwright's functions do, first runs a script of 330 KB there while the page loads."""
    end = time.monotonic() + LONGEST_SECONDS
    while time.monotonic() < end:
        asked = {"expression": "window.bench?.usableAt ?? 0", "returnByValue": True}
        after = float(client.send("Runtime.evaluate", asked)["result"]["value"])
        if after:
            return after
        time.sleep(0.02)
    sys.exit(f"The page could not be used within {LONGEST_SECONDS} s.")


def measure(browser: Browser, url: str, kind: str, times: int, selections: int) -> Measured:
    usable: list[float] = []
    taken: list[float] = []
    cpu: list[float] = []
    each = 0.0
    lines = code = 0
    linked: list[int] = []
    chosen: list[int] = []
    for again in range(times):
        page, after, client = opened(browser, url, kind)
        cpu.append(processor(client))
        usable.append(after)
        if again == times - 1:
            lines = _lines(page, kind)
            code = code_lines(page)
            linked = page.evaluate(LINKED[kind])
            chosen = random.Random(7).choices(linked, k=selections) if linked else []
            before = processor(client)
            taken = page.evaluate(SELECT[kind], chosen)
            each = (processor(client) - before) / max(1, len(taken))
        page.context.close()
    if linked and kind == "explorer":
        check_answers(browser, url, kind, chosen[0])
    return Measured(usable, taken, lines, cpu, each, code)


def _lines(page: Page, kind: str) -> int:
    if kind == "tlparse":
        return int(page.evaluate("() => document.querySelectorAll('.editor .line').length"))
    return int(
        page.evaluate(
            """async () => {
                 const { explorerUrl } = document.querySelector("#explorer").dataset;
                 const answer = await fetch(explorerUrl);
                 const shown = ["source", "post_grad", "ir_post", "code"];
                 return (await answer.json()).stages.filter((stage) => shown.includes(stage.id))
                   .reduce((sum, stage) => sum + (stage.files[0]?.lines ?? 0), 0);
               }"""
        )
    )


def code_lines(page: Page) -> int:
    """Lines of the generated code that tlparse's page shows; the explorer's page has none such."""
    return int(page.evaluate("() => document.querySelectorAll('#generatedCode .line').length"))


def graphs_of(url: str, run: str, ask: Page) -> dict[str, int]:
    """Explorer addresses of the run's graphs, and how many lines their output code has."""
    found: dict[str, int] = {}
    page = json.loads(ask.request.get(f"{url}/api/runs/{run}").text())
    for graph in page["graphs"]:
        path = f"/runs/{run}/graphs/{graph['slug']}"
        stages = json.loads(ask.request.get(f"{url}/api{path}/explorer").text())["stages"]
        code = next(stage for stage in stages if stage["id"] == "code")
        found[url + path] = code["files"][0]["lines"] if code["files"] else 0
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--times", type=int, default=5, help="how often each page is opened")
    parser.add_argument("--selections", type=int, default=200)
    asked = parser.parse_args()
    log = max(asked.folder.rglob("*.log"), key=lambda file: file.stat().st_size, default=None)
    if log is None:
        sys.exit(f"No TORCH_TRACE log (*.log) in {asked.folder} or below it.")
    with tempfile.TemporaryDirectory() as work:
        data = Path(work) / "data"
        command = [sys.executable, "-m", "inductorscope", "ingest", "--data", str(data)]
        done = subprocess.run(
            [*command, str(asked.folder)], check=True, capture_output=True, text=True
        )
        run = re.findall(r"/runs/([0-9a-f]{16})", done.stdout + done.stderr)[-1]
        (provenance, *_) = provenance_pages(log, Path(work) / "tlparse")
        with (
            serve(data) as served,
            files_served(provenance.parent) as files,
            sync_playwright() as playwright,
        ):
            browser = playwright.chromium.launch(executable_path=executable(), args=arguments())
            ask = browser.new_page()
            graphs = graphs_of(served.url, run, ask)
            biggest = max(graphs, key=lambda path: graphs[path])
            print(f"{browser.browser_type.name} {browser.version}, run {run}")
            theirs = f"{files}/{provenance.name}"
            peer = measure(browser, theirs, "tlparse", asked.times, asked.selections)
            ours = {
                path: measure(browser, path, "explorer", asked.times, asked.selections)
                for path in graphs
            }
            print(peer.said("tlparse"))
            for path, measured in ours.items():
                size = ", the biggest" if path == biggest else ""
                print(measured.said("explorer"), f"({path.rpartition('/')[2]}{size})")
            same = min(graphs, key=lambda path: abs(graphs[path] - peer.code_lines))
            ratio = statistics.median(peer.usable) / statistics.median(ours[same].usable)
            name = same.rpartition("/")[2]
            print(f"tlparse shows {name}; the explorer is usable {ratio:.1f} times as fast there.")
            less = statistics.median(peer.usable_cpu) / statistics.median(ours[same].usable_cpu)
            print(f"Its main thread works {less:.1f} times less until then.")
            browser.close()


if __name__ == "__main__":
    main()
