"""Reading TORCH_TRACE logs beside tlparse, and profiler traces beside HolisticTraceAnalysis.

    make bench                  all of it
    make bench ARGS=--quick     one pair of each, without the log of 1 GB

Every run is a fresh process with a fresh folder, tlparse and ours in turn, the first of them
changing from pair to pair; the table says medians. Beside them stands the least that a reader in
plain Python takes here (`bench.floor`). "Browsable" is when another process can open
every graph and every payload, "complete" when all is parsed, linked by calls and
searchable, "aligned" when the lines of kernels are linked too.
"""

import argparse
import datetime
import os
import platform
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from statistics import median

from bench import ours, peers, traces
from bench.measure import Finished, run
from bench.replicate import replicate
from tests.support.places import FIXTURES, ROOT, SHARED

HERE = Path(__file__).resolve().parent
WORK = HERE / "work"
MIXNET = SHARED / "traces" / "cuda-mixnet-train.tar.xz"
MB = 1_000_000
AFAR = 100 * MB / 8
"""Bytes a second of a line of 100 Mbit/s."""
LONGEST_FROM_AFAR = 500 * MB


@dataclass
class Case:
    """A log, and what reading it took, pair by pair."""

    title: str
    log: Path
    pairs: int
    peer: list[Finished] = field(default_factory=list)
    least: list[Finished] = field(default_factory=list)
    command: list[ours.Read] = field(default_factory=list)
    dashboard: list[ours.Read] = field(default_factory=list)
    from_afar: list[ours.Read] = field(default_factory=list)


def real_logs() -> list[Path]:
    """The logs that copies are made of, the one of mixnet first."""
    if MIXNET.is_file():
        folder = WORK / "cuda-mixnet-train"
        if not folder.is_dir():
            with tarfile.open(MIXNET) as archive:
                archive.extractall(WORK, filter="data")
        return [
            *sorted((folder / "torch_trace").glob("*.log")),
            *sorted((SHARED / "traces").glob("*/torch_trace/*.log")),
        ]
    found = sorted(FIXTURES.rglob("*.log"), key=lambda path: path.stat().st_size)
    print(
        f"{MIXNET} is not there, so all logs are copies of {found[-1].relative_to(ROOT)} "
        f"({found[-1].stat().st_size / MB:.2f} MB): many small graphs instead of some large ones."
    )
    return [found[-1]]


def made(name: str, size: int, *, own_codes: bool) -> Path:
    """A log of copies; what an earlier run of the benchmark made serves again."""
    log = WORK / name
    if not log.is_file() or log.stat().st_size < size:
        half = log.with_suffix(".part")
        replicate(real_logs(), half, size, own_codes=own_codes)
        half.rename(log)
    return log


def cases(*, quick: bool) -> list[Case]:
    first = real_logs()[0]
    if first.stat().st_size < 10 * MB:
        first = made("copies-18mb.log", 18 * MB, own_codes=True)
    found = [
        Case("mixnet", first, 1 if quick else 5),
        Case("copies", made("copies-110mb.log", 110 * MB, own_codes=False), 1 if quick else 3),
        Case("own codes", made("own-110mb.log", 110 * MB, own_codes=True), 1 if quick else 3),
    ]
    if not quick:
        found += [
            Case("copies", made("copies-1gb.log", 1000 * MB, own_codes=False), 1),
            Case("own codes", made("own-1gb.log", 1000 * MB, own_codes=True), 1),
        ]
    return found


def measure(case: Case, folder: Path, empty: int, empty_dashboard: int) -> None:
    """All pairs of a case. Each log is read once before, so that none pays for the disk alone."""
    with case.log.open("rb") as stream:
        while stream.read(8 * MB):
            pass
    steps: list[Callable[[], None]] = [
        lambda: case.peer.append(peers.parse(case.log, folder)),
        lambda: case.least.append(stored_at_least(case.log, folder)),
        lambda: case.command.append(ours.by_command([case.log], folder, empty)),
        lambda: case.dashboard.append(ours.in_dashboard(case.log, folder, empty_dashboard)),
    ]
    if case.log.stat().st_size < LONGEST_FROM_AFAR:
        steps.append(
            lambda: case.from_afar.append(
                ours.in_dashboard(case.log, folder, empty_dashboard, rate=AFAR)
            )
        )
    for number in range(case.pairs):
        print(f"{case.log.name}: {number + 1} of {case.pairs}", file=sys.stderr, flush=True)
        for step in steps if number % 2 == 0 else reversed(steps):
            step()


def stored_at_least(log: Path, folder: Path) -> Finished:
    """What `bench.floor` takes."""
    database = folder / "floor.db"
    database.unlink(missing_ok=True)
    command = [sys.executable, "-m", "bench.floor", os.fspath(log), os.fspath(database)]
    try:
        return run(command, folder / "floor.log", cwd=ROOT)
    finally:
        database.unlink(missing_ok=True)


HEADINGS = (
    "log", "size", "pairs", "reader", "browsable", "complete", "sooner than tlparse", "aligned",
    "CPU", "peak memory", "stored",
)  # fmt: skip


def rows_of(case: Case) -> list[tuple[str, ...]]:
    size = case.log.stat().st_size
    peer = median(once.seconds for once in case.peer)
    first = (case.title, f"{size / MB:,.0f} MB", str(case.pairs))
    peak = median(once.peak_bytes for once in case.peer)
    rows: list[tuple[str, ...]] = [
        (*first, "tlparse", "", f"{peer:.2f} s", "", "", cpu(case.peer), f"{peak / MB:,.0f} MB", "")
    ]
    least = median(once.seconds for once in case.least)
    peak = median(once.peak_bytes for once in case.least)
    sooner = f"{peer / least:.1f} times"
    figures = ("", f"{least:.2f} s", sooner, "", cpu(case.least), f"{peak / MB:,.0f} MB", "")
    rows.append(("", "", "", "plain Python, stored only", *figures))
    for title, reads in (
        ("ours, command", case.command),
        ("ours, dashboard", case.dashboard),
        ("the same, from afar", case.from_afar),
    ):
        if not reads:
            continue
        browsable = median(read.browsable_seconds for read in reads)
        complete = median(read.complete_seconds for read in reads)
        aligned = median(read.aligned_seconds for read in reads)
        peak = median(read.peak_bytes for read in reads)
        stored = median(read.stored_bytes for read in reads)
        sooner = f"{peer / browsable:.1f} and {peer / complete:.1f} times"
        figures = (
            f"{browsable:.2f} s",
            f"{complete:.2f} s",
            sooner,
            f"{aligned:.2f} s",
            cpu(reads),
            f"{peak / MB:,.0f} MB",
            share(stored, size),
        )
        sending = median(read.sending_seconds for read in reads)
        if sending:
            title += f", sent in {sending:.2f} s"
        rows.append(("", "", "", title, *figures))
    return rows


def cpu(runs: Sequence[Finished | ours.Read]) -> str:
    """Processor time, where it is known."""
    known = [once.cpu_seconds for once in runs if once.cpu_seconds is not None]
    return f"{median(known):.2f} s" if known else ""


def share(stored: float, size: int) -> str:
    return f"{stored / MB:.2f} MB, {stored / size:.1%}"


def debug_folder_rows(folder: Path, empty: int) -> list[tuple[str, ...]]:
    """Mixnet's debug directory: as torch wrote it, and with the profile that lies in it."""
    debug = WORK / "cuda-mixnet-train" / "torch_compile_debug"
    if not debug.is_dir():
        return []
    plain = folder / "debug-folder"
    shutil.copytree(debug, plain, ignore=shutil.ignore_patterns("*.json.gz"))
    rows: list[tuple[str, ...]] = []
    for title, root in (("debug folder", plain), ("with its profile", debug)):
        size = sum(file.stat().st_size for file in root.rglob("*") if file.is_file())
        read = ours.by_command([root], folder, empty)
        figures = (
            f"{read.browsable_seconds:.2f} s",
            f"{read.complete_seconds:.2f} s",
            "",
            f"{read.aligned_seconds:.2f} s",
            cpu([read]),
        )
        peak = f"{read.peak_bytes / MB:,.0f} MB"
        first = (title, f"{size / MB:,.0f} MB", "1", "ours, command")
        rows.append((*first, *figures, peak, share(read.stored_bytes, size)))
    return rows


def trace_rows(
    folder: Path, empty: int, empty_dashboard: int, *, quick: bool
) -> list[tuple[str, ...]]:
    """Mixnet's profile beside HolisticTraceAnalysis; none without that trace."""
    found = sorted((WORK / "cuda-mixnet-train").rglob("compiled_module_profile.json.gz"))
    rows: list[tuple[str, ...]] = []
    for case in traces.cases(found[0], WORK, quick=quick) if found else []:
        traces.measure(case, folder, empty, empty_dashboard)
        rows += traces.rows_of(case)
    return rows


def print_table(headings: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    for row in (headings, tuple("-" * width for width in widths), *rows):
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print(f"| {' | '.join(cells)} |")


def machine() -> str:
    with Path("/proc/cpuinfo").open() as cpus:
        names = [line.partition(":")[2].strip() for line in cpus if line.startswith("model name")]
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    name = names[0] if names else platform.machine()
    busy = os.getloadavg()[0]
    return (
        f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M} UTC, {os.cpu_count()} cores of "
        f"{name}, {memory:.0f} GiB, Linux {platform.release()}, Python {platform.python_version()},"
        f" inductorscope {version('inductorscope')}, {peers.TLPARSE}, load {busy:.1f} at the start"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="one pair of each, without 1 GB")
    given = parser.parse_args()
    heading = machine()
    WORK.mkdir(exist_ok=True)
    peers.tlparse()
    measured = cases(quick=given.quick)
    # A folder of this run alone: two at once must not share data.
    with tempfile.TemporaryDirectory(dir=WORK, prefix="run-") as name:
        folder = Path(name)
        empty = ours.empty_bytes(folder)
        empty_dashboard = ours.empty_dashboard_bytes(folder)
        for case in measured:
            measure(case, folder, empty, empty_dashboard)
        rows = [row for case in measured for row in rows_of(case)]
        rows += debug_folder_rows(folder, empty)
        of_traces = trace_rows(folder, empty, empty_dashboard, quick=given.quick)
    print(heading)
    print_table(HEADINGS, rows)
    if of_traces:
        print()
        print_table(traces.HEADINGS, of_traces)


if __name__ == "__main__":
    main()
