"""Record the truth of many programs.

    python -m bench.truth_programs.record OUT [--device cpu|cuda] [--jobs 2] [--only PATTERN]
        [--half tune|hold] [--archive FILE.tar.xz] [--seconds 500]

Writes one folder a program, as `score.py` reads them. Needs the checkout, torch and, for its
models, transformers; nothing else.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tarfile
import threading
import time
from collections import deque
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_LIMIT = 120
"""Seconds one program may take."""


class Queue:
    """Names to record, and what became of them."""

    def __init__(self, names: list[str], until: float) -> None:
        self.waiting = deque(names)
        self.until = until
        self.lock = threading.Lock()
        self.lines = self.recorded = 0
        self.problems: list[str] = []

    def next(self) -> str | None:
        with self.lock:
            return self.waiting.popleft() if self.waiting and time.time() < self.until else None

    def done(self, name: str, lines: int, problem: str) -> None:
        with self.lock:
            self.lines += lines
            self.recorded += lines > 0
            if problem:
                self.problems.append(f"{name}: {problem}")
            print(f"{len(self.waiting):5} left  {name}  {lines} lines  {problem[:120]}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="regular expression over program names")
    parser.add_argument("--half", choices=["tune", "hold"])
    parser.add_argument("--archive", type=Path, help="pack everything recorded into this file")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no program after these")
    parser.add_argument("--missing", action="store_true", help="only what OUT does not have yet")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    queue = Queue(_names(options), time.time() + options.seconds)
    threads = [
        threading.Thread(target=_serve, args=(queue, options.out, options.device))
        for _ in range(options.jobs)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"{queue.recorded} programs, {queue.lines} lines recorded")
    (options.out / f"problems-{options.device}.txt").write_text("\n".join(queue.problems) + "\n")
    if options.archive is not None:
        with tarfile.open(options.archive, "w:xz", preset=6) as archive:
            archive.add(options.out, options.out.name)
        print(f"{options.archive}: {options.archive.stat().st_size:,} bytes")


def _names(options: argparse.Namespace) -> list[str]:
    """Asked of a process of its own, so that this one never imports torch."""
    program = (
        "from bench.truth_programs.catalogue import all_programs\n"
        "for program in all_programs(): print('\\t'.join((program.half, program.name)))"
    )
    listed = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        capture_output=True, text=True, check=True, cwd=_ROOT,
    )  # fmt: skip
    wanted = re.compile(options.only)
    names = []
    for line in listed.stdout.splitlines():
        half, _, name = line.partition("\t")
        here = (options.out / f"{options.device}-{name}" / "truth.json").exists()
        if options.half in (None, half) and wanted.search(name) and not (options.missing and here):
            names.append(name)
    return list(dict.fromkeys(names))


def _serve(queue: Queue, out: Path, device: str) -> None:
    """Feed workers until nothing is left; a new one takes over where one died or hung."""
    worker: subprocess.Popen[str] | None = None
    while (name := queue.next()) is not None:
        if worker is None or worker.poll() is not None:
            worker = _worker(out, device)
        assert worker.stdin is not None
        assert worker.stdout is not None
        watch = threading.Timer(_LIMIT, worker.kill)
        watch.start()
        try:
            worker.stdin.write(name + "\n")
            worker.stdin.flush()
            reply = worker.stdout.readline().rstrip("\n").split("\t")
        except OSError:
            reply = []
        watch.cancel()
        if len(reply) == 3:
            queue.done(name, int(reply[1]), reply[2])
        else:
            worker.kill()
            worker.wait()
            queue.done(name, 0, f"the process died or took over {_LIMIT} s")
    if worker is not None and worker.stdin is not None:
        worker.stdin.close()
        worker.wait()


def _worker(out: Path, device: str) -> subprocess.Popen[str]:
    log = (out / f"worker-{device}.log").open("a")
    return subprocess.Popen(
        [sys.executable, "-m", "bench.truth_programs.worker", str(out.resolve()), device],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, cwd=_ROOT,
    )  # fmt: skip


if __name__ == "__main__":
    main()
