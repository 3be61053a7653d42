"""Runs arms in turns until there is an answer or the budget is used up. Torch-free."""

import importlib.util
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from inductorscope.analyze.measure.judge import LOOKS, Judged, judge
from inductorscope.capturing.launch import Swap
from inductorscope.capturing.measure.processes import Arm, Once, Runner
from inductorscope.capturing.watch import CaptureFailed
from inductorscope.progress import Progress

NO_SCIPY = "Measuring needs scipy: pip install 'inductorscope[capture]'."
PATIENCE = 3
"""After this many repeated processes that are disturbed too, none is repeated: the machine is
busy."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of a measurement. An answer ends it earlier."""

    seconds: float = 600.0
    processes: int = LOOKS[-1]
    """Processes of each arm."""
    looks: tuple[int, ...] = LOOKS
    """Numbers of processes after which to check for an answer."""


def turns(
    arms: Sequence[Arm],
    once: Callable[[Arm], Once],
    budget: Budget,
    progress: Progress,
    keep: Callable[[list[Once]], None],
    answered: Callable[[Sequence[Once]], bool] | None = None,
) -> list[Once]:
    """Runs processes in the order A B B A A B …, so that slow changes of the machine affect all
    arms alike. `answered`: whether the results so far are enough; by default, whether comparing the
    last arm with the first gives an answer. Raises CaptureFailed."""
    if importlib.util.find_spec("scipy") is None:
        raise CaptureFailed(NO_SCIPY)
    done: list[Once] = []
    began = time.monotonic()
    order, patience = list(arms), PATIENCE
    for number in range(1, budget.processes + 1):
        for arm in order:
            progress(f"Process {number} of {arm.label}", len(done), None, "processes")
            found = once(arm)
            if found.disturbed and patience:
                again = once(arm)
                patience -= bool(again.disturbed)
                # Choose by the load of other programs: choosing by times would bias the result.
                found = min(found, again, key=lambda look: look.others)
            done.append(found)
            keep(done)
        order.reverse()
        spent = time.monotonic() - began
        over = spent * (number + 1) / number > budget.seconds or number == budget.processes
        if number in budget.looks and not over:
            over = answered(done) if answered else _judged(done, arms)
        if over:
            break
    return done


def times(done: Sequence[Once], label: str) -> list[float]:
    """Returns a time of each process of an arm: the mean of its steps if steps differ in at least a
    third of all processes, else that of its fastest tenth."""
    differ = 3 * sum(process.differ for process in done) >= len(done)
    return [process.mean_ms if differ else process.ms for process in done if process.arm == label]


def compare_arms(done: Sequence[Once], first: str, label: str) -> Judged | None:
    """Compares two arms; returns None with fewer than two processes of each."""
    both = [process for process in done if process.arm in (first, label)]
    a, b = times(both, first), times(both, label)
    return judge(a, b) if min(len(a), len(b)) > 1 else None


def compare_swapped(arm: Arm, swap: Swap, runner: Runner, progress: Progress) -> Judged | None:
    """Compares the step of a program with its step with another kernel. Raises CaptureFailed."""
    arms = [arm, replace(arm, label="The program with the kernel", swap=swap)]
    done = turns(arms, runner.once, Budget(), progress, lambda _: None)
    return compare_arms(done, arms[0].label, arms[1].label)


def _judged(done: Sequence[Once], arms: Sequence[Arm]) -> bool:
    judged = compare_arms(done, arms[0].label, arms[-1].label)
    return judged is not None and judged.answer != "cannot tell"
