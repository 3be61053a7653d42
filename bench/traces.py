"""Reading profiler traces: Inductorscope beside HolisticTraceAnalysis, in one table.

The peer loads a trace and works out its kernel breakdown in memory; ours reads it, and stores what
pages ask for. Both are fresh processes, in turn; the table says medians.
"""

import gzip
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from bench import ours
from bench.measure import Finished, run

HERE = Path(__file__).resolve().parent
ENVIRONMENT = HERE / ".venv"
PEER = "HolisticTraceAnalysis==0.5.0"
MB = 1_000_000
SCRIPT = """
import sys
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_files={0: sys.argv[1]})
print(analysis.get_gpu_kernel_breakdown(visualize=False)[0])
"""
OURS = """
import sys
from pathlib import Path
from inductorscope.analyze.time.breakdown import break_down
from inductorscope.formats.trace.kineto import read_chrome_trace
from inductorscope.processes.memory import return_large_blocks
return_large_blocks()
print(break_down(read_chrome_trace(Path(sys.argv[1]))).categories)
"""


@dataclass
class TraceCase:
    """A trace, and what reading it took."""

    title: str
    trace: Path
    pairs: int
    with_peer: bool = True
    peer: list[Finished] = field(default_factory=list)
    kernels: list[Finished] = field(default_factory=list)
    """Read and broken down, without a database."""
    stored: list[ours.Read] = field(default_factory=list)
    """`inductorscope ingest`: into the database too, with the trace itself."""
    dashboard: list[ours.Read] = field(default_factory=list)
    """The same, of an upload to a dashboard."""


def peer() -> Path:
    """A Python that has the peer; installed from PyPI the first time."""
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", ENVIRONMENT], check=True)
    if subprocess.run([python, "-c", "import hta"], capture_output=True, check=False).returncode:
        print(f"Installing {PEER} into {ENVIRONMENT.relative_to(HERE.parent)}", file=sys.stderr)
        pip = [os.fspath(python), "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, "--disable-pip-version-check", PEER.partition("==")[0]], check=True)
    return python


def unpacked(packed: Path, work: Path) -> Path:
    """The trace as the profiler wrote it."""
    plain = work / "mixnet-trace.json"
    if not plain.is_file():
        half = plain.with_suffix(".part")
        with gzip.open(packed) as source, half.open("wb") as target:
            shutil.copyfileobj(source, target, MB)
        half.rename(plain)
    return plain


def repeated(plain: Path, times: int) -> Path:
    """The same events over and over, one list: what a longer profile is."""
    long = plain.with_name(f"mixnet-trace-{times}.json")
    if long.is_file():
        return long
    with plain.open("rb") as source:
        head = source.read(MB)
        start = head.index(b"[", head.index(b'"traceEvents"')) + 1
        source.seek(-MB, os.SEEK_END)
        tail = source.read()
        end = plain.stat().st_size - len(tail) + tail.rindex(b"]")
        half = long.with_suffix(".part")
        with half.open("wb") as target:
            target.write(head[:start])
            for number in range(times):
                target.write(b"," if number else b"")
                source.seek(start)
                left = end - start
                while left:  # piece by piece: what this process holds, those it measures begin with
                    left -= target.write(source.read(min(MB, left)))
            target.write(tail[tail.rindex(b"]") :])
    half.rename(long)
    return long


def cases(packed: Path, work: Path, *, quick: bool) -> list[TraceCase]:
    plain = unpacked(packed, work)
    found = [TraceCase("mixnet trace", plain, 1 if quick else 3)]
    if not quick:
        found.append(TraceCase("mixnet trace, 6 times", repeated(plain, 6), 1, with_peer=False))
    return found


def measure(case: TraceCase, folder: Path, empty: int, empty_dashboard: int) -> None:
    with case.trace.open("rb") as stream:
        while stream.read(8 * MB):
            pass
    for number in range(case.pairs):
        print(f"{case.trace.name}: {number + 1} of {case.pairs}", file=sys.stderr, flush=True)
        if case.with_peer:
            command = [os.fspath(peer()), "-c", SCRIPT, os.fspath(case.trace)]
            case.peer.append(run(command, folder / "hta.log"))
        command = [sys.executable, "-c", OURS, os.fspath(case.trace)]
        case.kernels.append(run(command, folder / "kernels.log"))
        case.stored.append(ours.by_command([case.trace], folder, empty))
        case.dashboard.append(ours.in_dashboard(case.trace, folder, empty_dashboard))


HEADINGS = ("trace", "size", "reader", "time", "sooner", "CPU", "peak memory", "stored")


def rows_of(case: TraceCase) -> list[tuple[str, ...]]:
    size = f"{case.trace.stat().st_size / MB:,.0f} MB"
    base = median(once.seconds for once in case.peer) if case.peer else None
    rows = []
    for reader, runs in ((PEER.partition("==")[0], case.peer), ("ours, kernels", case.kernels)):
        if runs:
            seconds = [once.seconds for once in runs]
            sooner = None if runs is case.peer else base
            rows.append(_row(reader, seconds, runs, sooner, ""))
    for way, reads in (("ingest", case.stored), ("dashboard", case.dashboard)):
        stored = f"{median(once.stored_bytes for once in reads) / MB:,.1f} MB"
        broken_down = [once.browsable_seconds for once in reads]
        whole = [once.complete_seconds for once in reads]
        rows.append(_row(f"ours, {way}: broken down", broken_down, reads, base, ""))
        rows.append(_row(f"ours, {way}: all stored", whole, reads, base, stored))
    return [
        (case.title if not number else "", size if not number else "", *row)
        for number, row in enumerate(rows)
    ]


def _row(
    reader: str,
    seconds: list[float],
    runs: Sequence[Finished | ours.Read],
    base: float | None,
    stored: str,
) -> tuple[str, ...]:
    cpu = [once.cpu_seconds for once in runs if once.cpu_seconds is not None]
    return (
        reader,
        f"{median(seconds):.2f} s",
        "" if base is None else f"{base / median(seconds):.1f} times",
        f"{median(cpu):.2f} s" if cpu else "",
        f"{median(once.peak_bytes for once in runs) / MB:,.0f} MB",
        stored,
    )
