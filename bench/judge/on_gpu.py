"""Captures a small program on a GPU, and judges honest, dishonest, slower and faster candidates.

    PYTHONPATH=ingest:server:. python -m bench.judge.on_gpu [--seconds 540] [--out FILE.json]
        [--kernel PART …]

It needs a GPU, torch with Triton, and what `inductorscope capture` needs: SQLAlchemy, msgspec,
typer, numpy, scipy and a C compiler; no network. It begins no judgement after `--seconds`, gives
each two minutes, and prints what failed with its traceback. The last line is a summary as JSON.
Seconds are from the edited text to the verdict, with the process already warm, and ready for this
kernel as after opening its page. Before each it pauses as long as a quick edit takes.
"""

import argparse
import json
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from inductorscope.analyze.benchmark.case import KernelCase
from inductorscope.analyze.judging import configurations
from inductorscope.answers.explorer.judging import Judgeable, cases_of
from inductorscope.capturing.judging.order import order_of
from inductorscope.capturing.judging.run import judging
from inductorscope.settings import Settings
from inductorscope.store.database.engine import engine_of, sessions
from inductorscope.store.database.migrate import migrate
from inductorscope.store.tables.models import Graph, Kernel, KernelCall, Run
from msgspec.structs import replace
from sqlalchemy import select

from bench.judge.__main__ import reason
from bench.judge.subject import ORIGIN, definition, whole

PROGRAM = """\
import torch
import torch.nn.functional as F


def several(x, y, u, v, w):
    z = torch.sigmoid(x) * y + x.abs().clamp(max=0.5)
    return z, torch.softmax(u * 2, -1), F.gelu(F.layer_norm(v, (v.shape[-1],), w)), v.amax(0)


def make(train=False):
    return several, (
        torch.randn(1023, 1000), torch.randn(1023, 1000), torch.randn(300, 5000),
        torch.randn(2048, 768), torch.randn(768),
    )
"""
ANSWERED_S = 120
EDIT_S = 2.0
SIDE_STREAM = """\
with torch.cuda.stream(torch.cuda.Stream()):
    honest(given)
return given"""
LATE = """\
import threading
threading.Timer(0.05, honest, (given,)).start()
return given"""
KEPT = """\
if key in kept:
    for name, value in kept[key].items():
        given[name].copy_(value)
    return given
made = honest(given)
kept[key] = {name: value.clone() for name, value in made.items()}
return given"""
HALF = """\
made = honest(given)
for value in made.values():
    if value.is_floating_point():
        value.copy_(value.half().float())
return given"""
NOT_RECORDED = """\
if not torch.cuda.is_current_stream_capturing():
    honest(given)
return given"""
FIRST_ONLY = """\
calls.append(0)
return honest(given) if len(calls) < 200 else given"""
_BLOCK = re.compile(r"(\w+BLOCK) ?: ?tl\.constexpr(?! ?=)")
_STORE = re.compile(r"(tl\.store\([^,]+, )(tmp\d+)(, )")


class Candidate(NamedTuple):
    """A text, and what should be said of it."""

    name: str
    honest: bool
    text: str
    answer: str = ""
    """What should be said of its time: `equal`, if neither faster nor slower; empty if anything."""
    instead: str = ""
    """The definition to judge it against, if that is not the run's own."""


def configured(text: str, warps: int, **blocks: int) -> str:
    """Returns the definition with one configuration in place of Inductor's choice."""
    names = _BLOCK.findall(text)
    if "XBLOCK" not in names:
        return text
    sizes = {name: blocks.get(name, blocks["XBLOCK"]) for name in names}
    return configurations.configured(text, sizes, warps)


def honest(case: KernelCase) -> Iterator[Candidate]:
    text = definition(case)
    edited = text.replace("@triton.jit\n", "# the same\n@triton.jit\n")
    yield Candidate("as it is", True, text, "equal")
    yield Candidate("comment", True, edited, "equal")
    yield Candidate("source alone", True, re.split("'''|\"\"\"", text)[1], "equal")
    yield Candidate("comment again", True, edited.replace("the same", "again"), "equal")
    yield Candidate("test case", True, whole(case, "", "return honest(given)"))
    several = "R0_BLOCK" in _BLOCK.findall(text)
    for block, warps in ((1, 8), (2, 4), (4, 8)) if several else ((256, 4), (512, 8), (1024, 4)):
        if "triton_per" in text:
            block = max(1, block // 256)
        made = configured(text, warps, XBLOCK=block, R0_BLOCK=1024)
        if made != text:
            yield Candidate(f"XBLOCK {block}, {warps} warps", True, made)


def timed(case: KernelCase) -> Iterator[Candidate]:
    """Yields a really slower and a really faster one."""
    text = definition(case)
    starved = configured(text, 1, XBLOCK=8, R0_BLOCK=8)
    if starved != text and "triton_per" not in text:
        yield Candidate("starved", True, starved, "slower")
        yield Candidate("Inductor's for a starved one", True, text, "faster", starved)


def dishonest(case: KernelCase) -> Iterator[Candidate]:
    text = definition(case)
    read = case.operands[0].name
    for name, before, kernel in (
        ("nothing", "", "return given"),
        ("other stream", "", SIDE_STREAM),
        ("thread", "", LATE),
        ("kept by address", "kept = {}", f"key = given[{read!r}].data_ptr()\n{KEPT}"),
        ("kept by shape", "kept = {}", f"key = given[{read!r}].shape\n{KEPT}"),
        ("half precision", "", HALF),
        ("left out of the graph", "", NOT_RECORDED),
        ("first calls only", "calls = []", FIRST_ONLY),
        ("synchronize", "torch.cuda.synchronize = lambda *_: None", "return honest(given)"),
        (
            "elapsed time",
            "torch.cuda.Event.elapsed_time = lambda *_: 0.001",
            "return honest(given)",
        ),
        ("replay", "torch.cuda.CUDAGraph.replay = lambda _: None", "return honest(given)"),
        ("end", "import os\nos._exit(0)", "return given"),
    ):
        yield Candidate(name, False, whole(case, before, kernel))
    for name, old, new in (
        ("one short", "xmask = xindex < xnumel", "xmask = xindex < xnumel - 1"),
        ("first block only", "xmask = xindex < xnumel", "xmask = xindex < min(xnumel, XBLOCK)"),
    ):
        if old in text:
            yield Candidate(name, False, text.replace(old, new))
    stored = _STORE.search(text)
    if stored is not None:
        rounded = f"{stored[1]}({stored[2]}).to(tl.bfloat16).to(tl.float32){stored[3]}"
        yield Candidate("bfloat16", False, text.replace(stored.group(), rounded))


def captured(data: Path, device: str) -> list[tuple[str, Judgeable]]:
    """Captures the program; returns its kernels."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "program.py"
        file.write_text(PROGRAM)
        command = [sys.executable, "-m", "inductorscope", "capture", f"{file}:make", "--dynamic"]
        command += ["--device", device, "--no-eager", "--data", str(data)]
        subprocess.run(command, check=True, timeout=300)
    settings = Settings(data=data, database_url="")
    migrate(settings)
    with engine_of(settings) as engine, sessions(engine)() as session:
        query = select(Run.id, Graph.slug, Kernel.name, KernelCall.handle)
        query = query.join(Graph, Graph.run_id == Run.id)
        query = query.join(Kernel, Kernel.graph_id == Graph.id)
        query = query.join(KernelCall, KernelCall.kernel_id == Kernel.id)
        query = query.where(Kernel.kind.in_(("triton", "cpp"))).order_by(KernelCall.handle)
        return [
            (kernel, cases_of(session, run, graph, kernel, handle))
            for run, graph, kernel, handle in session.execute(query)
        ]


def shown(
    kernels: list[tuple[str, Judgeable]], wanted: list[str]
) -> Iterator[tuple[str, Judgeable, Candidate]]:
    """Yields all of the first kernel, then honest and timed ones of the others. `wanted`: parts of
    names; all if empty."""
    for number, (kernel, found) in enumerate(kernels):
        if wanted and not any(part in kernel for part in wanted):
            continue
        case = found.cases[0]
        parts = (honest, timed) if number else (honest, dishonest, timed)
        for part in parts:
            for candidate in part(case):
                yield kernel, found, candidate


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    def end(*_: object) -> None:
        raise TimeoutError(f"no verdict within {seconds} s")

    signal.signal(signal.SIGALRM, end)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


def main() -> None:
    began = time.monotonic()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="keep the captured run here")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=540.0)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--kernel", nargs="*", default=[], help="parts of kernels' names")
    given = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder, ExitStack() as open_judge:
        data = given.data or Path(folder) / "data"
        settings = Settings(data=data, database_url="")
        kernels = captured(data, given.device)
        for kernel, found in kernels:
            print(f"{kernel}: {len(found.cases) - 1} further shapes", flush=True)
        judge, protections, ready = None, {}, ""
        for kernel, found, candidate in shown(kernels, given.kernel):
            if time.monotonic() - began > given.seconds:
                print("The time is up.")
                break
            row: dict[str, Any] = {
                "kernel": kernel, "name": candidate.name, "honest": candidate.honest,
            }  # fmt: skip
            rows.append(row)
            try:
                if judge is None:
                    started = time.perf_counter()
                    judge = open_judge.enter_context(judging(settings))
                    protections = judge.protections
                    print(f"warm after {time.perf_counter() - started:.1f} s; {protections}")
                cases = found.cases
                if candidate.instead:
                    lines = candidate.instead.splitlines()
                    cases = [replace(case, definition=lines) for case in cases]
                order = order_of(cases, ORIGIN, candidate.text)
                if order.original != ready:
                    judge.judge(replace(order, candidate=""))
                    ready = order.original
                time.sleep(EDIT_S)
                asked = time.perf_counter()
                with limited(ANSWERED_S):
                    verdict = judge.judge(order)
            except Exception as error:  # noqa: BLE001  # one failure must not end the rest
                traceback.print_exc()
                row["failed"] = repr(error)
                open_judge.close()
                judge = None
                continue
            row |= {
                "seconds": round(time.perf_counter() - asked, 2), "accepted": verdict.accepted,
                "said": reason(verdict).splitlines()[0][:300],
                "as expected": verdict.accepted == candidate.honest,
            }  # fmt: skip
            figures = ""
            if (judged := verdict.judged) is not None:
                row |= {
                    "answer": judged.answer, "original_ms": judged.a_ms, "ms": judged.b_ms,
                    "shift": judged.shift, "low": judged.low, "high": judged.high,
                }  # fmt: skip
                same = judged.answer in ("the same", "cannot tell")
                row["time as expected"] = not candidate.answer or (
                    same if candidate.answer == "equal" else judged.answer == candidate.answer
                )
                figures = (
                    f"{judged.a_ms:.4f} → {judged.b_ms:.4f} ms, {judged.answer} "
                    f"({judged.low:+.1%} to {judged.high:+.1%})"
                )
            good = row["as expected"] and row.get("time as expected", True)
            print(
                f"{kernel[:32]:33}{candidate.name:30}{row['seconds']:6.1f} s  "
                f"{'' if good else 'UNEXPECTED '}{row['said']} {figures}",
                flush=True,
            )
            if candidate.honest and not verdict.accepted:
                print(verdict.error or verdict.shapes, flush=True)
    told = [row for row in rows if "accepted" in row]
    summary = {
        "honest": sum(row["honest"] for row in told),
        "honest rejected": sum(row["honest"] and not row["accepted"] for row in told),
        "exploits": sum(not row["honest"] for row in told),
        "exploits accepted": sum(not row["honest"] and row["accepted"] for row in told),
        "times": sum("time as expected" in row for row in told),
        "times unexpected": [row for row in told if not row.get("time as expected", True)],
        "failed": [row for row in rows if "failed" in row],
        "median seconds": statistics.median([row["seconds"] for row in told] or [0.0]),
        "median seconds if accepted": statistics.median(
            [row["seconds"] for row in told if row["accepted"]] or [0.0]
        ),
        "unconfined": {name: why for name, why in protections.items() if why},
    }
    if given.out:
        given.out.write_text(json.dumps({"summary": summary, "rows": rows}, indent=1))
    print(json.dumps(summary))


if __name__ == "__main__":
    main()
