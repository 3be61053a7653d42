"""Runs a kernel's test case in a child process, within limits. Torch-free and blocking."""

import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from inductorscope.capturing.watch import CaptureFailed, Limits, Watch, last_lines
from inductorscope.processes.dying import how_it_ended
from inductorscope.processes.programs import needed_variables
from inductorscope.settings import Settings

CACHE = "cache"
REPORT = "report.ncu-rep"
LONGEST_SECONDS = 60.0


class BenchmarkFailed(CaptureFailed):
    """The benchmark produced no figures; the message is a sentence for the user."""


@dataclass(frozen=True)
class BenchmarkRequest:
    """A requested benchmark: what to run, and how."""

    case: str
    """Text of the test case."""
    device: str
    seconds: float = 2.0
    max_autotune: bool = False
    compile_only: bool = False
    """Whether to compile the kernel into `folder / CACHE` and not run it."""
    profile: bool = False
    """Whether to launch it once under Nsight Compute, which writes `folder / REPORT`."""
    configuration: Mapping[str, object] = field(default_factory=dict)
    """Options of the configuration of a Triton kernel to compile or profile."""


def run_case(
    request: BenchmarkRequest,
    folder: Path,
    settings: Settings,
    progress: Callable[[str], None] = lambda step: None,
) -> dict[str, Any]:
    """Returns the results of the test case: times, checks and registers. If the kernel was only
    compiled or profiled, returns its `configuration` and the `key` of its folder in Triton's cache.

    Raises BenchmarkFailed, or CaptureFailed if a limit is exceeded.
    """
    folder.mkdir(parents=True, exist_ok=True)
    case, result, log = folder / "case.py", folder / "result.json", folder / "benchmark.log"
    case.write_text(request.case, encoding="utf-8")
    command = [sys.executable, "-m", "inductorscope.capturing.benchmark.child"]
    command += [str(case), str(result), "--cache", str(folder / CACHE)]
    command += ["--seconds", str(min(request.seconds, LONGEST_SECONDS)), "--device", request.device]
    command += ["--memory", str(settings.capture_bytes)]
    command += ["--max-autotune"] if request.max_autotune else []
    command += ["--compile-only"] if request.compile_only else []
    if request.configuration:
        command += ["--configuration", json.dumps(dict(request.configuration))]
    if not request.profile:
        command += ["--parent", str(os.getpid())]
        done = "" if request.compile_only else ", checking and timing it"
    else:
        command = [*_ncu(folder), *command, "--launch"]
        done = " and profiling it"
    progress(f"Compiling the kernel{done}")
    watch = Watch("benchmark", Limits(settings.capture_seconds, settings.capture_bytes))
    return _outcome(result, log, watch.run(command, log, needed_variables(), folder))


def _ncu(folder: Path) -> list[str]:
    """Runs Nsight Compute on the kernels that Triton compiled. Its process is killed with its
    group."""
    program = shutil.which("ncu")
    if program is None:
        raise BenchmarkFailed("Nsight Compute (ncu) is not installed on this machine.")
    out = str(folder / REPORT)
    return [program, "--set", "full", "--kernel-name", "regex:^triton_", "--export", out]


def _outcome(result: Path, log: Path, status: int) -> dict[str, Any]:
    printed = log.read_bytes()[-20_000:].decode(errors="replace").strip()
    try:
        results = msgspec.json.decode(result.read_bytes())
    except (OSError, msgspec.DecodeError):
        raise BenchmarkFailed(
            f"The test case {how_it_ended(status)} before it was done.{last_lines(log)}"
        ) from None
    if not isinstance(results, dict):
        raise BenchmarkFailed("The results of the test case cannot be read.")
    return results | {"printed": printed}
