"""The pages of times of a run with thousands of kernels, in a browser.

    python -m bench.time_page [--kernels 5000] [--times 3]

The run is made of a test fixture (bench/many_kernels.py): 5,000 kernels, 10,000 nodes, 100,000
launches. Measured in Chromium, from asking for a page to its first row being there, and from a
click to other rows; the best of several times, since other work on the machine only makes them
longer. Beside it the processor time of the server's answer, in one warm process.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import httpx
from playwright.sync_api import Browser, sync_playwright

from bench.compile_page import best, opened, until_changed
from bench.many_kernels import LAUNCHES, make_run
from bench.measure import family
from tests.support.chromium import arguments, executable
from tests.support.serving import serve

ROW = "main table tbody tr"


def addresses(profile: int, kernels: int) -> dict[str, str]:
    """Pages by name; those far down are near the end of their table."""
    lines, events = (max(0, rows - 200) for rows in (2 * kernels, LAUNCHES * kernels))
    table = "/time/table?of="
    return {
        "times": "/time",
        "roofline": "/roofline",
        "kernels": "/kernels",
        "kernels by name": "/kernels?order=name",
        "kernels, filtered": f"/kernels?q=_{kernels // 10}",
        "lines": f"{table}lines",
        "lines, far down": f"{table}lines&first={lines}",
        "nodes": f"{table}nodes",
        "events": f"{table}events&profile={profile}",
        "events, far down": f"{table}events&profile={profile}&first={events}",
        "events, longest first": f"{table}events&profile={profile}&sort=us",
    }


def processor_seconds(pid: int) -> float:
    """What a server and its processes took so far."""
    total = 0
    for member in family(pid):
        fields = Path(f"/proc/{member}/stat").read_text().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


def measure(browser: Browser, url: str, pid: int, pages: dict[str, str], times: int) -> None:
    with httpx.Client(timeout=60) as client:
        for name, path in pages.items():
            address = url + path
            client.get(address).raise_for_status()
            before = processor_seconds(pid)
            for _ in range(10):
                client.get(address).raise_for_status()
            took = (processor_seconds(pid) - before) / 10
            first = best(times, partial(opened, browser, address, ROW))
            print(f"{name:24} {first:6.2f} s to the first row, {took:5.2f} s of the server's")
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(f"{url}/time/table?of=lines")
    page.locator(ROW).first.wait_for()
    steps = {
        "another order": lambda: page.locator("thead a").last.click(),
        "next page": lambda: page.locator("a[rel=next]").first.click(),
    }
    for name, act in steps.items():
        print(f"{name:24} {until_changed(page, ROW, act):6.2f} s to other rows")
    page.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", type=int, default=5000)
    parser.add_argument("--times", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        data, made = Path(folder) / "data", Path(folder) / "run"
        make_run(made, options.kernels)
        command = [sys.executable, "-m", "inductorscope", "ingest", "--data", str(data), str(made)]
        started = time.perf_counter()
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        print(f"{done.stdout.splitlines()[0]} All in {time.perf_counter() - started:.1f} s.")
        run = done.stdout.split()[1]
        browser = playwright.chromium.launch(executable_path=executable(), args=arguments())
        with serve(data, "--workers", "0") as served:
            url = f"{served.url}/runs/{run}"
            told = httpx.get(f"{served.url}/api/runs/{run}/time").raise_for_status().json()
            (profile,) = [row["id"] for row in told["profiles"]]
            pages = addresses(profile, options.kernels)
            measure(browser, url, served.process.pid, pages, options.times)
        browser.close()


if __name__ == "__main__":
    main()
