"""Runs kernels of two runs by themselves, in turns on the same inputs. Torch-free.

`python -m inductorscope.capturing.measure.alone FOLDER` is the process that does it: it runs the
kernels' test cases, of both sides within one process, so that clocks and neighbours are the same.
"""

from __future__ import annotations

import argparse
import os
import runpy
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from inductorscope.analyze.measure.judge import LOOKS
from inductorscope.capturing import process_group
from inductorscope.capturing.inside import environment
from inductorscope.capturing.inside.leaving import leave
from inductorscope.capturing.watch import CaptureFailed, Limits, Watch, last_lines
from inductorscope.processes.programs import needed_variables
from inductorscope.progress import Progress
from inductorscope.settings import Settings

REQUEST, RESULT, LOG = "alone.json", "alone-result.json", "alone.log"
SECONDS = 0.5
"""How long the kernels of one group are timed in one process."""
SEED = 20230920
PROCESSES = LOOKS[0]


class Group(msgspec.Struct):
    """Kernels of both sides that do the same work: test cases and how often a step runs each."""

    device: str
    a: list[tuple[str, int]]
    b: list[tuple[str, int]]


class Alone(msgspec.Struct):
    """Times in ms of all calls of a step, one of each process; or why there are none."""

    a: list[float] = msgspec.field(default_factory=list)
    b: list[float] = msgspec.field(default_factory=list)
    error: str = ""


def run_alone(
    groups: Mapping[str, Group], folder: Path, settings: Settings, progress: Progress
) -> dict[str, Alone]:
    """Runs all groups in each of several processes. Raises CaptureFailed."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / REQUEST).write_bytes(msgspec.json.encode(groups))
    found = {name: Alone() for name in groups}
    for number in range(PROCESSES):
        progress("Running changed kernels by themselves", number, PROCESSES, "processes")
        for name, times in _run(folder, settings).items():
            if isinstance(times, str):
                found[name].error = times
            else:
                found[name].a.append(times[0])
                found[name].b.append(times[1])
    return found


def _run(folder: Path, settings: Settings) -> dict[str, tuple[float, float] | str]:
    command = [sys.executable, "-m", __name__, str(folder), "--memory", str(settings.capture_bytes)]
    (folder / RESULT).unlink(missing_ok=True)
    with (folder / LOG).open("wb") as stream:
        process = subprocess.Popen(
            [*command, "--parent", str(os.getpid())], stdin=subprocess.DEVNULL, stdout=stream,
            stderr=subprocess.STDOUT, cwd=folder, env=needed_variables(), start_new_session=True,
        )  # fmt: skip
    watch = Watch("run of the kernels", Limits(settings.capture_seconds, settings.capture_bytes))
    try:
        watch.follow(process)
    finally:
        process_group.end_group(process)
        watch.close()
    try:
        data = (folder / RESULT).read_bytes()
    except OSError:
        said = last_lines(folder / LOG)
        raise CaptureFailed(f"The kernels' process ended without a result.{said}") from None
    return msgspec.json.decode(data, type=dict[str, tuple[float, float] | str])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog=f"python -m {__name__}")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--memory", type=int, help="memory limit in bytes")
    parser.add_argument("--parent", type=int, help="process to die with")
    options = parser.parse_args(arguments)
    environment.die_with(options.parent)
    environment.forget_settings()
    folder: Path = options.folder
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(folder / "cache")
    os.environ["TRITON_CACHE_DIR"] = str(folder / "cache" / "triton")
    groups = msgspec.json.decode((folder / REQUEST).read_bytes(), type=dict[str, Group])
    from inductorscope.capturing.inside.instructions import try_instructions

    device = next(iter(groups.values())).device
    try_instructions(device)
    environment.limit_memory(options.memory, device)
    times: dict[str, tuple[float, float] | str] = {}
    for number, (name, group) in enumerate(groups.items()):
        try:
            times[name] = _time(group, folder / f"case{number}")
        except BaseException as error:  # noqa: BLE001  # a test case may end its process
            times[name] = f"{type(error).__name__}: {error}"[:500]
    (folder / RESULT).write_bytes(msgspec.json.encode(times))
    return 0


def _time(group: Group, start: Path) -> tuple[float, float]:
    import statistics

    import torch

    calls: dict[str, Callable[[], object]] = {}
    measure: Any = None
    for side, cases in (("a", group.a), ("b", group.b)):
        runs: list[tuple[Any, Any, int]] = []
        for place, (text, count) in enumerate(cases):
            file = start.with_name(f"{start.name}_{side}{place}.py")
            file.write_text(text, encoding="utf-8")
            case = runpy.run_path(str(file), run_name="case")
            torch.manual_seed(SEED)  # inputs of the same layout have the same values
            runs.append((case["kernel"], case["inputs"](), count))
            measure = case["milliseconds"]

        def call(runs: list[tuple[Any, Any, int]] = runs) -> None:
            for kernel, inputs, count in runs:
                for _ in range(count):
                    kernel(inputs)

        calls[side] = call
    with torch.no_grad():
        samples = measure(calls, group.device, SECONDS)
    return statistics.median(samples["a"]), statistics.median(samples["b"])


if __name__ == "__main__":
    leave(main())
