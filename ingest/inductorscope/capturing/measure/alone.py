"""Runs kernels of two runs on their own, in turns on the same inputs. Torch-free."""

import itertools
from collections.abc import Mapping
from pathlib import Path

import msgspec

from inductorscope.analyze.measure.judge import LOOKS
from inductorscope.capturing.benchmark.run import BenchmarkRequest, run_case
from inductorscope.progress import Progress
from inductorscope.settings import Settings

IN_TURNS = Path(__file__).with_name("in_turns.py")
PROCESSES = LOOKS[0]
SECONDS = 0.5
"""How long one group is timed in one process."""


class Cases(msgspec.Struct):
    """Test cases of the kernels of both sides that do the same work, with how often a step runs
    each."""

    device: str
    a: list[tuple[str, int]]
    b: list[tuple[str, int]]


class Alone(msgspec.Struct):
    """Times of all calls of a step in ms, one from each process, or why there are none."""

    a: list[float] = msgspec.field(default_factory=list)
    b: list[float] = msgspec.field(default_factory=list)
    agrees: bool = False
    """Whether both sides give the same results, if each has one kernel."""
    error: str = ""


def run_alone(
    groups: Mapping[str, Cases], folder: Path, settings: Settings, progress: Progress
) -> dict[str, Alone]:
    """Runs all groups in each of several processes. A's and B's kernels share each process, where
    clocks and other load are the same. Raises CaptureFailed."""
    (folder / "cases").mkdir(parents=True)
    numbers = itertools.count()
    request: dict[str, dict[str, list[tuple[str, int]]]] = {}
    for name, group in groups.items():
        for side, cases in (("a", group.a), ("b", group.b)):
            for text, calls in cases:
                file = folder / "cases" / f"{next(numbers)}.py"
                file.write_text(text, encoding="utf-8")
                request.setdefault(name, {}).setdefault(side, []).append((str(file), calls))
    (folder / "in_turns.json").write_bytes(msgspec.json.encode(request))
    found = {name: Alone() for name in groups}
    device = next(iter(groups.values())).device
    asked = BenchmarkRequest(IN_TURNS.read_text(encoding="utf-8"), device, SECONDS)
    for number in range(PROCESSES):
        progress("Running changed kernels by themselves", number, PROCESSES, "processes")
        result = run_case(asked, folder, settings)
        for name, times in result["times"].items():
            if isinstance(times, str):
                found[name].error = times
            else:
                found[name].a.append(times["a"])
                found[name].b.append(times["b"])
                found[name].agrees = times["agrees"]
    return found
