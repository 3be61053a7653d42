"""The timeline of a long trace: answers of windows at any zoom, and frames of a pan.

    python -m bench.timeline [--events 1000000] [--data FOLDER]

The trace is made (tests/support/long_trace.py) and read, unless the folder holds it from before.
Answers come from one warm process, and are timed by its client, on the same machine. Frames are
Chromium's while the window moves with every frame; a frame's work is what the page's script takes.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
from playwright.sync_api import Browser, sync_playwright

from bench.measure import MemoryWatch
from tests.support.chromium import arguments, executable
from tests.support.long_trace import write
from tests.support.serving import serve

WIDTH = 2880
"""Half a window of 1,440 pixels more to each side, as the page asks for it."""
FRAMES = 150
PAN = """
(frames) => new Promise(done => {
  const works = [], waits = [], channel = new MessageChannel();
  let before = 0, began = 0, key = "d";
  // Sent at the begin of a frame, it arrives when the frame's scripts are done.
  channel.port1.onmessage = () => works.push(performance.now() - began);
  const step = (now) => {
    if (before) waits.push(now - before);
    before = now;
    began = performance.now();
    if (waits.length >= frames) return done({works, waits});
    requestAnimationFrame(step);  // before the page asks for a frame to draw in
    if (waits.length % 25 === 24) key = key === "d" ? "a" : "d";
    document.querySelector("canvas").dispatchEvent(
      new KeyboardEvent("keydown", {key, bubbles: true}));
    channel.port2.postMessage(0);
  };
  requestAnimationFrame(step);
})
"""


def timed(client: httpx.Client, address: str) -> tuple[float, int]:
    """Milliseconds, the median of three, and bytes."""
    took = []
    for _ in range(3):
        started = time.perf_counter()
        answer = client.get(address)
        took.append((time.perf_counter() - started) * 1000)
        answer.raise_for_status()
    return statistics.median(took), len(answer.content)


def answers(url: str, pid: int, run: str) -> None:
    twin = f"{url}/api/runs/{run}/timeline"
    with httpx.Client(timeout=60) as client:
        whole = client.get(f"{twin}?width=0").json()
        span = whole["span_us"]
        print(f"{whole['events']:,} events in {span / 1e6:.2f} s")
        watch = MemoryWatch(pid)
        for part in (1, 4, 16, 64, 256, 1024, 8192, 65536):
            long = span / part
            found = []
            for place in (0.0, 0.31, 0.5, 0.77):
                start = min(span * place, span - long)
                query = f"start={start:.3f}&end={start + long:.3f}&width={WIDTH}"
                found.append(timed(client, f"{twin}?{query}"))
            worst, largest = max(ms for ms, _ in found), max(size for _, size in found)
            print(f"window of {long / 1000:10.3f} ms {worst:6.0f} ms {largest / 1000:7.0f} kB")
        page = client.get(twin).json()
        step = next(event for event in page["longest"] if "ProfilerStep" in event["name"])
        kernel = next(event for event in page["longest"] if event["on_device"])
        asked = {
            "sums of a stretch": f"width=0&mark={span * 0.2:.3f}~{span * 0.7:.3f}",
            "search, many matches": "width=0&q=aten::mm",
            "search, none": "width=0&q=nothing",
            "a kernel": f"width=0&event={kernel['number']}",
            "a step": f"width=0&event={step['number']}",
        }
        for name, query in asked.items():
            took, size = timed(client, f"{twin}?{query}")
            print(f"{name:24} {took:6.0f} ms {size / 1000:7.0f} kB")
        took, size = timed(client, f"{url}/runs/{run}/timeline")
        print(f"{'the page':24} {took:6.0f} ms {size / 1000:7.0f} kB")
        watch.stop()
        print(f"peak memory of the server and its processes {watch.peak / 1e6:.0f} MB")


def frames(browser: Browser, address: str) -> None:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    first = []
    for _ in range(5):
        started = time.perf_counter()
        page.goto(address, wait_until="commit")
        page.wait_for_function("() => performance.getEntriesByName('timeline drawn').length > 0")
        first.append(time.perf_counter() - started)
    print(f"first content {min(first):.2f} to {max(first):.2f} s")
    for name, keys in (("whole", 0), ("zoomed in", 5), ("far in", 18)):
        for _ in range(keys):
            page.locator("canvas").press("w")
        page.wait_for_timeout(1500)
        found = page.evaluate(PAN, FRAMES)
        work, wait = sorted(found["works"]), sorted(found["waits"])
        print(
            f"pan, {name:10} work of a frame {statistics.median(work):5.1f} ms, "
            f"p95 {work[int(len(work) * 0.95)]:5.1f}; between frames "
            f"{statistics.median(wait):5.1f} ms, p95 {wait[int(len(wait) * 0.95)]:5.1f}"
        )
    context.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--data", type=Path, help="a folder to keep, and to use again")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        top = options.data or Path(temporary)
        data, trace = top / "data", top / "trace" / "compiled.trace.json"
        if not trace.exists():
            trace.parent.mkdir(parents=True, exist_ok=True)
            write(trace, options.events)
        command = [sys.executable, "-m", "inductorscope", "ingest", "--data", str(data)]
        started = time.perf_counter()
        subprocess.run([*command, str(trace.parent)], check=True, capture_output=True)
        print(f"read, or found as it was read, in {time.perf_counter() - started:.1f} s")
        with serve(data, "--workers", "0") as served:
            run = httpx.get(f"{served.url}/api/").json()["runs"][0]["id"]
            answers(served.url, served.process.pid, run)
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=executable(), args=arguments())
                frames(browser, f"{served.url}/runs/{run}/timeline")
                browser.close()


if __name__ == "__main__":
    main()
