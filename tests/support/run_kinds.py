"""Kinds of uploads, each a small real one: whole, alone, of others, damaged and empty."""

import gzip
import json
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.places import FIXTURES, SHARED

FOO = FIXTURES / "cuda-foo1"
CPU_TRACE = FIXTURES / "traces" / "three-steps.cpu.json.gz"
"""Of torch's profiler: three steps of `torch.relu(torch.randn(8, 8) @ torch.randn(8, 8)).sum()`."""
EVENTS = "traceEvents"

Make = Callable[[Path], object]


def _copy(*paths: Path) -> Make:
    def make(folder: Path) -> None:
        for path in paths:
            if path.is_dir():
                shutil.copytree(path, folder / path.name)
            else:
                shutil.copy(path, folder)

    return make


def _unpacked(archive: Path, *, only: str = "") -> Make:
    """The files of an archive whose names end so."""

    def make(folder: Path) -> None:
        with tarfile.open(archive) as files:
            wanted = [member for member in files if member.name.endswith(only)]
            files.extractall(folder, wanted, filter="data")

    return make


def _changed_trace(change: Callable[[dict[str, Any]], object]) -> Make:
    """The trace of a GPU, with its events changed."""

    def make(folder: Path) -> None:
        trace = json.loads(gzip.decompress((FOO / "compiled.trace.json.gz").read_bytes()))
        change(trace)
        (folder / "trace.json").write_text(json.dumps(trace))

    return make


def _whole_microseconds(trace: dict[str, Any]) -> None:
    """As torch before 2.4 wrote it."""
    for event in trace[EVENTS]:
        for name in ("ts", "dur"):
            if name in event:
                event[name] = int(event[name])


def _device_alone(trace: dict[str, Any]) -> None:
    """Without ProfilerActivity.CPU: no operator, no launch, no step."""
    kinds = ("kernel", "gpu_memcpy", "gpu_memset")
    trace[EVENTS] = [event for event in trace[EVENTS] if event.get("cat") in kinds]


def _no_events(trace: dict[str, Any]) -> None:
    trace[EVENTS] = []


def _counters_alone(trace: dict[str, Any]) -> None:
    """As with CUPTI's range profiler: kernels whose hardware counters were read."""
    for event in trace[EVENTS]:
        if event.get("cat") == "kernel":
            event["cat"] = "cuda_profiler_range"
    trace[EVENTS] = [event for event in trace[EVENTS] if event.get("cat") != "gpu_memcpy"]


def _same_name(folder: Path) -> None:
    for rank, label in enumerate(("compiled", "eager")):
        (folder / f"rank{rank}").mkdir()
        shutil.copy(FOO / f"{label}.trace.json.gz", folder / f"rank{rank}" / "compiled.json.gz")


def _cut(path: Path) -> Make:
    """The first half of a file."""

    def make(folder: Path) -> None:
        content = path.read_bytes()
        (folder / path.name).write_bytes(content[: len(content) // 2])

    return make


def _without_code(folder: Path) -> None:
    shutil.copytree(FOO / "torch_compile_debug", folder / "debug")
    for code in (folder / "debug").rglob("output_code.py"):
        code.unlink()


def _trace_of_another_program(folder: Path) -> None:
    shutil.copytree(FOO / "torch_compile_debug", folder / "debug")
    shutil.copy(CPU_TRACE, folder)


KINDS: dict[str, Make] = {
    "whole": _copy(FOO),
    "trace of a GPU": _copy(FOO / "compiled.trace.json.gz"),
    "trace of a processor": _copy(CPU_TRACE),
    "trace of a replayed graph": _unpacked(
        FIXTURES / "cuda-calls" / "replayed.tar.xz", only=".trace.json"
    ),
    "code and the trace of its replay": _unpacked(FIXTURES / "cuda-calls" / "replayed.tar.xz"),
    "trace in whole µs": _changed_trace(_whole_microseconds),
    "trace of the device alone": _changed_trace(_device_alone),
    "trace of hardware counters": _changed_trace(_counters_alone),
    "trace without events": _changed_trace(_no_events),
    "eager and compiled trace": _copy(
        FOO / "eager.trace.json.gz", FOO / "compiled.trace.json.gz"
    ),
    "two traces of one name": _same_name,
    "cut trace": _cut(FOO / "compiled.trace.json.gz"),
    "profiler's table": _copy(FOO / "compiled.table.txt"),
    "code and a trace of another program": _trace_of_another_program,
    "log": _copy(FOO / "torch_trace"),
    "log of recompiles": _copy(FIXTURES / "dynamic" / "torch_trace"),
    "cut log": _cut(next((FOO / "torch_trace").glob("*.log"))),
    "TORCH_LOGS": _copy(FIXTURES / "torch-logs" / "torch_logs.txt"),
    "TORCH_LOGS of a whole program": _copy(FIXTURES / "torch-logs-mixed" / "mix.log.gz"),
    "TORCH_LOGS of the IR": _copy(FIXTURES / "torch-logs-mixed" / "ir.log.gz"),
    "folder of tlparse": _unpacked(FIXTURES / "tlparse-folder" / "dynamic.tar.xz"),
    "code for Metal": _copy(FIXTURES / "inputs" / "mps.py"),
    "AOTInductor that loads cubins": _copy(FIXTURES / "inputs" / "aoti-gpu" / "aoti-gpu.cpp"),
    "debug folder": _copy(FOO / "torch_compile_debug"),
    "debug folder without code": _without_code,
    "code": _copy(FIXTURES / "output-code" / "cuda-mix.py"),
    "C++ of AOTInductor": _copy(FIXTURES / "aoti-cpu"),
    "printed values": _copy(FIXTURES / "intermediate-values" / "cpu-printed.txt"),
    "failed": _copy(FIXTURES / "neg-does-not-compile"),
}  # fmt: skip
"""Kind → how to fill an empty folder with it."""

OF_OTHERS = {
    name: SHARED / "traces" / name
    for name in (
        "profiles/mi300-graph-replay.json.gz", "profiles/rank-unavailable.json.gz",
        "logs/export.log", "logs/inductor_provenance_aot_cuda_log.txt", "logs/multi_rank_logs",
        "logs/simple_corrupted_json.log",
    )
} if SHARED.is_dir() else {}  # fmt: skip
"""Traces and logs of other people's programs that are like none of ours, if they lie beside the
checkout. Tests of reading read them all."""
KINDS |= {name: _copy(path) for name, path in OF_OTHERS.items()}
