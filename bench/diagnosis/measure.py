"""Measures what the fix of each planted program really wins, and writes `measured.json`.

    python -m bench.diagnosis.measure [NAME ...] [--corpus FOLDER] [--device cpu] [--times 3]

Planted and fixed run in turns, each in a process of its own: forked from this one, which has only
imported torch, or started anew with --spawn. The loop over `step` is marked at the start of each
step: by the clock, or by CUDA events, which add no synchronisation. On a GPU, several of these may
run at once: after its first steps a process takes a lock, so that one program at a time is timed.
`step_ms` is the median over the processes of each one's median step, second half of the loop.
`loop_s`, `compile_s` and the counts are of the first process, whose compile cache is empty.
"""

import argparse
import ast
import contextlib
import fcntl
import itertools
import json
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
import types
from pathlib import Path
from typing import Any

import torch
import torch._dynamo
from torch._dynamo.utils import calculate_time_spent, counters

from bench.diagnosis.corpus import HERE, Program, forms, read_json, read_programs, write_json

LIMIT_S = 120
WARM_STEPS = 8
LOCK = Path(tempfile.gettempdir()) / "diagnosis-measure.lock"


class _Marking(ast.NodeTransformer):
    """Calls `__mark__()` where a step of the loop over `step` begins, and after the last."""

    def visit_For(self, node: ast.For) -> ast.For:
        self.generic_visit(node)
        if any(isinstance(n, ast.Name) and n.id == "step" for n in ast.walk(node.target)):
            mark = ast.Expr(ast.Call(ast.Name("__mark__", ast.Load()), [], []))
            node.body.insert(0, ast.fix_missing_locations(ast.copy_location(mark, node.body[0])))
            node.orelse.append(ast.fix_missing_locations(ast.copy_location(mark, node)))
        return node


class Marks:
    def __init__(self, device: str) -> None:
        self.on_device = device == "cuda"
        self.marks: list[Any] = []
        self.lock = LOCK.open("w")

    def __call__(self) -> None:
        if self.on_device:
            if len(self.marks) == WARM_STEPS:
                torch.cuda.synchronize()
                fcntl.flock(self.lock, fcntl.LOCK_EX)
            event = torch.cuda.Event(enable_timing=True)
            event.record()
            self.marks.append((time.perf_counter(), event))
        else:
            self.marks.append((time.perf_counter(), None))

    def steps_ms(self) -> list[float]:
        if self.on_device:
            torch.cuda.synchronize()
            events = [event for _, event in self.marks]
            steps = [a.elapsed_time(b) for a, b in itertools.pairwise(events)]
            return steps[: WARM_STEPS - 1] + steps[WARM_STEPS:]
        clock = [at for at, _ in self.marks]
        return [(b - a) * 1e3 for a, b in itertools.pairwise(clock)]


def _run_marked(path: Path, device: str) -> dict[str, Any]:
    """Run the program here; what came of it."""
    marks = Marks(device)
    module = types.ModuleType("__main__")
    module.__dict__.update({"__file__": str(path), "__mark__": marks})
    sys.modules["__main__"], sys.argv = module, [str(path)]
    code = compile(_Marking().visit(ast.parse(path.read_text())), str(path), "exec")
    failure = ""
    try:
        exec(code, module.__dict__)
    except Exception as error:  # noqa: BLE001 - some programs are planted to fail
        traceback.print_exc()
        failure = f"{type(error).__name__}: {(str(error).strip() or '?').splitlines()[0]}"[:160]
    steps = marks.steps_ms()
    return {
        "failure": failure,
        "steps": len(steps),
        "step_ms": statistics.median(steps[len(steps) // 2 :]) if steps else None,
        "loop_s": sum(steps) / 1e3,
        "compile_s": calculate_time_spent().get("entire_frame_compile", 0.0)
        + calculate_time_spent().get("entire_backward_compile", 0.0),
        "graphs": counters["stats"]["unique_graphs"],
        "breaks": sum(counters["graph_break"].values()),
        "skipped_cuda_graphs": counters["inductor"]["cudagraph_skips"],
    }


def run_spawned(path: Path, device: str, cache: Path) -> dict[str, Any]:
    """As `run_once`, in a process that is started anew."""
    out = path.with_suffix(".json")
    out.unlink(missing_ok=True)
    command = [sys.executable, "-m", "bench.diagnosis.measure", "--run", str(path)]
    with path.with_suffix(".log").open("w") as log, contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(
            [*command, "--device", device, "--out", str(out)],
            stdout=log,
            stderr=log,
            env={**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(cache)},
            timeout=LIMIT_S,
            check=False,
        )
    return read_json(out) or {"failure": "no answer", "step_ms": None}


def run_once(path: Path, device: str, cache: Path) -> dict[str, Any]:
    """The figures of one process of the program at `path`, forked from this one."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(cache)
        signal.alarm(LIMIT_S)
        log = os.open(path.with_suffix(".log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.write(writer, json.dumps(_run_marked(path, device)).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else {"failure": "no answer", "step_ms": None}


def measure(
    folder: Path, program: Program, times: int, seed: Path, work: Path, spawn: bool
) -> dict[str, dict[str, Any]]:
    texts = forms(folder, program)
    runs: dict[str, list[dict[str, Any]]] = {form: [] for form in texts}
    for form, text in texts.items():
        (work / form).mkdir()
        (work / form / f"{program.name}.py").write_text(text)
        shutil.copytree(seed, work / form / "cache")
    for _ in range(times if "fixed" in texts else 1):
        for form in texts:
            path = work / form / f"{program.name}.py"
            run = run_spawned if spawn else run_once
            runs[form].append(run(path, program.device, work / form / "cache"))
    return {form: _summary(results) for form, results in runs.items()}


def _summary(results: list[dict[str, Any]]) -> dict[str, Any]:
    steps = [result["step_ms"] for result in results if result["step_ms"] is not None]
    summary = dict(results[0])
    summary.update(step_ms=statistics.median(steps) if steps else None, n=len(results))
    summary["spread_ms"] = [round(min(steps), 4), round(max(steps), 4)] if steps else []
    return {
        key: float(f"{value:.4g}") if isinstance(value, float) else value
        for key, value in summary.items()
    }


def _line(name: str, figures: dict[str, dict[str, Any]]) -> str:
    parts = []
    for form, row in figures.items():
        step = f"{row['step_ms']:.3g} ms" if row["step_ms"] is not None else "no step"
        counts = [row.get(key) for key in ("graphs", "breaks", "skipped_cuda_graphs")]
        parts.append(
            f"{form} {step} x{row.get('steps')} {counts} {row.get('compile_s')} s {row['failure']}"
        )
    both = [row["step_ms"] for row in figures.values()]
    ratio = f"{both[0] / both[1]:.2f}x" if len(both) == 2 and all(both) else ""
    return f"{name:32} {ratio:7} {' | '.join(parts)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--corpus", type=Path, default=HERE)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--out", type=Path, help="default: measured.json of the corpus")
    parser.add_argument(
        "--seed", type=Path, help="a compile cache to start from, made if not there"
    )
    parser.add_argument("--lane", default="0/1", help="I/N: only each Nth program, from the Ith")
    parser.add_argument("--spawn", action="store_true", help="start processes anew: do not fork")
    parser.add_argument("--run", type=Path, help="run this program here, once")
    args = parser.parse_args()
    if args.run:
        args.out.write_text(json.dumps(_run_marked(args.run, args.device)))
        os._exit(0)
    out = args.out or args.corpus / "measured.json"
    lane, lanes = map(int, args.lane.split("/"))
    chosen = [
        program
        for program in read_programs(args.corpus)
        if program.device == args.device and (not args.names or program.name in args.names)
    ][lane::lanes]
    machine = f"torch {torch.__version__}, {os.cpu_count()} cores, {platform.machine()}"
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        seed = args.seed or work / "seed"
        if not seed.exists():
            seed.mkdir()
            (work / "seed.py").write_text(
                f"import torch\nx = torch.randn(64, 64, device='{args.device}')\n"
                "torch.compile(lambda x: (x.sin() @ x).sum())(x)\n"
            )
            (run_spawned if args.spawn else run_once)(work / "seed.py", args.device, seed)
        for program in chosen:
            place = work / program.name
            place.mkdir()
            figures: dict[str, Any] = measure(
                args.corpus, program, args.times, seed, place, args.spawn
            )
            shutil.rmtree(place)
            print(_line(program.name, figures), flush=True)
            table = read_json(out)
            table[program.name] = {**figures, "machine": machine}
            write_json(out, table)


if __name__ == "__main__":
    main()
