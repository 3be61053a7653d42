"""On a CUDA machine: do rooflines, memory plans and benchmarks agree with torch's own figures?

    python -m bench.gpu_benchmarks OUT [--kernels 12]

Captures the small GPT in training, reads the capture as any other, runs the generated modules with
`-p` and `-k`, runs test cases of its kernels, and compares: bytes with Inductor's, times, registers
and spills with those that `-k` prints, kernel times with those of `-p`, the plan's peak with what
the allocator counts. Writes OUT/gpu_benchmarks.json and prints a table. The status is 1 when
something that must be equal is not.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inductorscope.analyze.benchmark.case import NoCase, kernel_case
from inductorscope.analyze.memory.graph import memory_plan
from inductorscope.answers.explorer.graph_texts import graph_texts
from inductorscope.answers.time.roofline import RooflinePage, roofline_page
from inductorscope.capture.benchmark.run import Asked, BenchmarkFailed, run_case
from inductorscope.capture.benchmark.text import case_text
from inductorscope.capture.run import run_capture
from inductorscope.capture.spec import CaptureSpec
from inductorscope.cli.local import read_paths
from inductorscope.formats.printed.benchmark_log import BenchmarkLog, parse_benchmark_log
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine, sessions
from inductorscope.store.tables.models import Graph
from sqlalchemy import select
from sqlalchemy.orm import Session

# Run in a process of its own: what the allocator holds at most beyond the inputs.
PEAK = """
import json, runpy, sys, torch
module = runpy.run_path(sys.argv[1])
args = module["get_args"]()
call = module["call"]
call(list(args))
torch.cuda.synchronize()
torch.cuda.reset_peak_memory_stats()
before = torch.cuda.memory_allocated()
result = call(list(args))
torch.cuda.synchronize()
print("PEAK", torch.cuda.max_memory_allocated() - before)
"""


@dataclass
class Compared:
    """What was compared, and what must be equal and is not."""

    lines: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)
    kept: dict[str, str] = field(default_factory=dict)
    """Test cases whose results differ."""

    def say(self, line: str) -> None:
        self.lines.append(line)
        print(line, flush=True)

    def must(self, true: bool, what: str) -> None:
        if not true:
            self.wrong.append(what)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--kernels", type=int, default=12, help="test cases to run in each graph")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    compared = Compared()
    with tempfile.TemporaryDirectory() as scratch:
        work(Path(scratch), given.kernels, compared)
    compared.figures["wrong"] = compared.wrong
    (given.out / "gpu_benchmarks.json").write_text(json.dumps(compared.figures, indent=1))
    for name, text in compared.kept.items():
        (given.out / name).write_text(text)
    for what in compared.wrong:
        print("WRONG:", what)
    return 1 if compared.wrong else 0


def work(scratch: Path, kernels: int, compared: Compared) -> None:
    settings = Settings(data=scratch / "data", database_url="")
    capture = scratch / "capture"
    spec = CaptureSpec(
        model="gpt-small", device="cuda", train=True, seconds=2.0,
        config={"benchmark_kernel": "True"},
    )  # fmt: skip
    run_capture(spec, capture, settings, log=print, trusted=True, cache=scratch / "cache")
    result = read_paths(
        settings, [capture], name="gpt", tags=[], origin="capture",
        progress=lambda step, done, total, unit: None,
    )  # fmt: skip
    with sessions(make_engine(settings))() as session:
        page = roofline_page(session, result.run_id, order="time")
        assert page is not None
        roofline(page, compared)
        for graph in session.scalars(select(Graph).where(Graph.run_id == result.run_id)):
            one_graph(session, graph, page, scratch, kernels, settings, compared)


def roofline(page: RooflinePage, compared: Compared) -> None:
    peaks = page.peaks
    assert peaks is not None
    compared.must(peaks.provenance == "measured", "the peaks are not measured")
    products = {name: f"{rate / 1e12:.0f} TFLOP/s" for name, rate in peaks.matmul.items()}
    compared.say(f"{page.device}: {peaks.memory / 1e9:.0f} GB/s, {products}")
    compared.say(
        f"step {page.step_us:.0f} us ({page.step_from}), kernels {page.time_us:.0f} us, of which "
        f"{page.counted_us:.0f} us with known bytes; at the roof -{(page.saves or 0) * 100:.1f} %"
    )
    compared.say(f"bytes equal Inductor's for {page.agreed} of {page.estimated} kernels")
    compared.must(page.counted == page.timed > 0, "kernels with a time and without bytes")
    for row in page.kernels[:12]:
        share = (row.standing.share or 0) * 100
        compared.say(
            f"  {row.time_us or 0:9.1f} us {share:6.1f} % of its roof, {row.standing.bound:7} "
            f"{row.name[:60]}"
        )
    compared.figures["roofline"] = {
        "device": page.device, "memory": peaks.memory, "matmul": peaks.matmul,
        "agreed": page.agreed, "estimated": page.estimated, "over": page.over,
        "step_us": page.step_us, "kernels_us": page.time_us, "saves": page.saves,
    }  # fmt: skip


def one_graph(
    session: Session, graph: Graph, page: RooflinePage, scratch: Path, kernels: int,
    settings: Settings, compared: Compared,
) -> None:  # fmt: skip
    texts = graph_texts(session, graph.id).read(session)
    code = scratch / f"{graph.direction}.py"
    code.write_text(texts["output_code"])
    profiled, alone = module(code, "-p"), module(code, "-k")
    compared.say(f"== {graph.slug}")
    memory(texts, code, graph, compared)
    against_profile(page, graph, profiled, compared)
    against_kernels(texts, alone, kernels, scratch / graph.direction, settings, compared)


def module(code: Path, option: str) -> BenchmarkLog:
    """What the generated module prints of itself."""
    done = subprocess.run(
        [sys.executable, str(code), option], capture_output=True, text=True, check=False
    )
    if done.returncode:
        print(done.stdout[-2000:], done.stderr[-2000:])
    return parse_benchmark_log(done.stdout)


def memory(texts: dict[str, str], code: Path, graph: Graph, compared: Compared) -> None:
    plan = memory_plan(texts["output_code"], texts.get("ir_post_fusion"), texts["fx_transformed"])
    done = subprocess.run(
        [sys.executable, "-c", PEAK, str(code)], capture_output=True, text=True, check=False
    )
    counted = next(
        (int(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("PEAK")), 0
    )
    if not counted:
        print(done.stdout[-1000:], done.stderr[-1000:])
    ratio = plan.peak / counted if counted else 0.0
    compared.say(f"memory: plan {plan.peak:,} bytes, allocator {counted:,} ({ratio:.3f})")
    # Rounding to 512 bytes each, and what libraries take for themselves, make it larger.
    compared.must(0.5 < ratio <= 1.001, f"{graph.slug}: the plan's peak is not the allocator's")
    compared.figures[f"memory {graph.direction}"] = {"plan": plan.peak, "allocator": counted}


def against_profile(
    page: RooflinePage, graph: Graph, log: BenchmarkLog, compared: Compared
) -> None:
    """Kernel times of the capture's profile beside those of `-p`, a call of the module each."""
    theirs = {
        row.name: row.self_ms * 1000
        for profile in log.profiles
        for table in profile.categories
        for row in table.rows
    }
    pairs = [
        (row.time_us, theirs[row.name[:120]])
        for row in [*page.kernels, *page.drawn]
        if row.graph == graph.slug and row.time_us and row.name[:120] in theirs
    ]
    ratios = [ours / other for ours, other in pairs if other]
    if ratios:
        middle = statistics.median(ratios)
        compared.say(
            f"-p: {len(ratios)} kernels, our time / theirs: median {middle:.3f}, "
            f"from {min(ratios):.3f} to {max(ratios):.3f}; sums "
            f"{sum(p[0] for p in pairs):.1f} and {sum(p[1] for p in pairs):.1f} us"
        )
        compared.must(0.8 < middle < 1.25, f"{graph.slug}: times differ from those of -p")
    compared.figures[f"profile {graph.direction}"] = ratios


def against_kernels(
    texts: dict[str, str], log: BenchmarkLog, kernels: int, scratch: Path, settings: Settings,
    compared: Compared,
) -> None:  # fmt: skip
    """Our benchmark of each kernel beside that of `-k`."""
    by_key = {row.key: row for row in log.kernels if row.key}
    rows: list[tuple[float, bool, bool, bool | None]] = []
    for name, key in keys_of(texts["output_code"]):
        theirs = by_key.get(key)
        if theirs is None or len(rows) >= kernels:
            continue
        try:
            case = kernel_case(texts, name, handle_of(texts["output_code"], name))
            asked = Asked(case_text(case, "bench"), case.device)
            found = run_case(asked, scratch / key, settings)
        except (NoCase, BenchmarkFailed) as error:
            compared.say(f"  {name[:50]}: {str(error)[-600:]}")

            compared.must(False, f"no benchmark of {name}")
            continue
        moved = (case.work.bytes.total or 0) / 1e9
        ms = found["ms"]["kernel"]
        rows.append((ms / theirs.ms, found.get("registers") == theirs.registers,
                     found.get("spills") == theirs.spills, found["agrees"]))  # fmt: skip
        compared.say(
            f"  {ms:.4f} ms, -k {theirs.ms:.3f} | {moved:.6f} GB, -k {theirs.gigabytes:.3f} | "
            f"{found.get('registers')} regs, -k {theirs.registers} | {found.get('spills')} spills, "
            f"-k {theirs.spills} | eager {found['ms'].get('eager', 0):.4f} ms | agrees "
            f"{found['agrees']} {sorted(found['not_compared'])} | {name[:44]}"
        )
        if found["agrees"] is False:
            compared.say(f"    {found['checks']}")
            compared.kept[f"{key}.py"] = asked.case
        compared.must(found["agrees"] is not False, f"{name} differs from its FX nodes")
        compared.must(abs(moved - theirs.gigabytes) < 0.0006 + 0.05 * theirs.gigabytes,
                      f"{name}: bytes differ from -k")  # fmt: skip
    if rows:
        ratios = [row[0] for row in rows]
        compared.say(
            f"-k: {len(rows)} kernels, our ms / theirs: median {statistics.median(ratios):.3f} "
            f"from {min(ratios):.3f} to {max(ratios):.3f}; same registers "
            f"{sum(row[1] for row in rows)}, same spills {sum(row[2] for row in rows)}, results "
            f"agree {sum(row[3] is True for row in rows)}, none to compare "
            f"{sum(row[3] is None for row in rows)}"
        )
        compared.must(0.75 < statistics.median(ratios) < 1.35, "times differ from those of -k")
        compared.figures[f"kernels {scratch.name}"] = rows


def keys_of(code: str) -> list[tuple[str, str]]:
    """(kernel, beginning of its file's name) of each that says where it lies."""
    from inductorscope.formats.code.output_code import parse_output_code

    return [
        (kernel.name, Path(kernel.kernel_path).name[:10])
        for kernel in parse_output_code(code).kernels
        if kernel.kernel_path
    ]


def handle_of(code: str, kernel: str) -> int:
    from inductorscope.formats.code.output_code import parse_output_code

    return next(call.handle for call in parse_output_code(code).calls if call.kernel == kernel)


if __name__ == "__main__":
    sys.exit(main())
