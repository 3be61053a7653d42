"""The first opening of each page of a run that nobody has looked at.

    python -m bench.first_pages FOLDER [--beside FOLDER] [--times 3] [--unaligned] [--cold]

The folder is read once. For each page a server starts, shows the list of runs, and is asked for the
page two seconds later, in Chromium with nothing kept from before; the median of several times.
Beside it the time of the server's answer when it is asked again. `--unaligned` leaves the lines of
kernels to be aligned later, as a dashboard does at first; `--cold` asks for the page first of all.
`--beside` reads another folder too, and also opens the comparison of both.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import httpx
from inductorscope import urls
from inductorscope.formats.vocabulary import IR_POST, IR_PRE
from inductorscope.reading.graphs.relink import relink
from inductorscope.reading.run import read_run
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine, sessions
from inductorscope.store.database.migrate import migrate
from playwright.sync_api import Browser, sync_playwright

from bench.compile_page import opened
from tests.support.chromium import arguments, executable
from tests.support.serving import serve

PAUSE_S = 2.0
"""Time that somebody looks at the list of runs."""
CONTENT = "main"


def made(folders: list[Path], data: Path, *, aligned: bool) -> list[str]:
    """Reads the folders; returns the runs' ids."""
    settings = Settings(data=data, database_url="")
    migrate(settings)
    engine = make_engine(settings)
    ids = [
        read_run(
            folder, session_factory=sessions(engine), origin="ingest", settings=settings,
            aligned_at_once=0,
        ).run_id
        for folder in folders
    ]  # fmt: skip
    if aligned:
        relink(engine)
    engine.dispose()
    return ids


def pages(data: Path, run: str) -> dict[str, str]:
    """Addresses by name: of the run, of its slowest graph, and of its slowest kernel."""
    of_run = f"/runs/{run}"
    with serve(data, "--workers", "0") as served, httpx.Client(timeout=60) as client:
        shown = client.get(f"{served.url}/api{of_run}").raise_for_status().json()
    graph = max(shown["graphs"], key=lambda row: row["time_us"] or 0.0)["slug"]
    kernel = next(row for row in shown["kernels"] if row["handle"] is not None)
    names = (
        "time", "timeline", "roofline", "compile", "compile/list", "compile/time", "compile/fusing",
        "failures", "log", "read",
    )  # fmt: skip
    return {
        "overview": of_run,
        **{name: f"{of_run}/{name}" for name in names},
        "explorer": f"{of_run}/graphs/{graph}",
        "beside": f"/beside?left={run}/{graph}/{IR_PRE}&right={run}/{graph}/{IR_POST}",
        "memory": f"{of_run}/graphs/{graph}/memory",
        "kernel": urls.kernel(run, kernel["graph"], kernel["name"], kernel["handle"]),
    }


def first(browser: Browser, data: Path, path: str, *, cold: bool) -> tuple[float, float]:
    """Seconds until a page is there for the first time, and of the answer when asked again."""
    with serve(data, "--workers", "0") as served:
        if not cold:
            httpx.get(served.url, timeout=60).raise_for_status()
            time.sleep(PAUSE_S)
        took = opened(browser, served.url + path, CONTENT)
        begin = time.perf_counter()
        httpx.get(served.url + path, timeout=60).raise_for_status()
        return took, time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--beside", type=Path)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--unaligned", action="store_true")
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--only", help="names of pages, with commas")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        data = Path(folder) / "data"
        folders = [options.folder] + [options.beside] * bool(options.beside)
        runs = made(folders, data, aligned=not options.unaligned)
        where = pages(data, runs[0])
        if options.beside:
            where["compare"] = urls.compare(*runs)
        browser = playwright.chromium.launch(executable_path=executable(), args=arguments())
        browser.new_context().close()
        for name, path in where.items():
            if options.only and name not in options.only.split(","):
                continue
            each = [first(browser, data, path, cold=options.cold) for _ in range(options.times)]
            there, again = (statistics.median(times) for times in zip(*each, strict=True))
            print(
                f"{name:16} {there:6.2f} s to the first content, again {again:5.2f} s", flush=True
            )
        browser.close()


if __name__ == "__main__":
    main()
