"""Measures two captured runs in turns, and finds what caused the difference."""

import math
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from inductorscope.analyze.measure.judge import LOOKS, judge_all
from inductorscope.analyze.measure.result import (
    NOTHING,
    SAME_CODE,
    Cause,
    Kernel,
    Measurement,
    Side,
    Swapped,
    Times,
    causes_of,
    share_of,
    share_of_all,
)
from inductorscope.answers.compare.page import KernelCalls
from inductorscope.capturing.measure.alone import Alone, run_alone
from inductorscope.capturing.measure.processes import Arm, Once, Runner
from inductorscope.capturing.measure.turns import Budget, compare_arms, times, turns
from inductorscope.capturing.watch import CaptureFailed
from inductorscope.jobs.work.pair import Pair
from inductorscope.progress import Progress

MOST_SWAPPED = 3
WORTH_SWAPPING = 0.05
"""Kernels with a smaller share of the difference are not swapped."""
OTHERS = "other kernels and operators"
IDLE = "the GPU waits for the program"
NO_TIME = "No time was left to swap the kernels."
OTHER_RESULTS = "The two kernels give other results on the same inputs."


@dataclass(frozen=True)
class PairAsked:
    """How to measure."""

    seconds: float = 600.0
    processes: int = LOOKS[-1]


def measure_pair(
    pair: Pair,
    asked: PairAsked,
    runner: Runner,
    progress: Progress,
    keep: Callable[[Measurement], None],
) -> Measurement:
    """Runs both in turns until the answer is clear, then finds what changed. `keep` gets partial
    results.

    Raises CaptureFailed, SpecError.
    """
    began = time.monotonic()
    done = turns(
        [pair.a, pair.b], runner.once, Budget(asked.seconds, asked.processes), progress,
        lambda so_far: keep(_measured(pair, so_far, began)),
    )  # fmt: skip
    found = _measured(pair, done, began)
    if found.judged is None or found.judged.answer not in ("slower", "faster"):
        return found
    found = _with_causes(pair, found, done)
    keep(found)
    cases = {name: group.cases for name, group in pair.groups.items() if group.cases}
    if cases:
        try:
            alone = run_alone(cases, runner.folder / "alone", runner.settings, progress)
            found = _with_alone(found, alone)
            keep(found)
            left = asked.seconds - (time.monotonic() - began)
            each = statistics.median(process.seconds for process in done)
            most = int(left / each / LOOKS[0] - 2) // 2
            found = _with_swaps(pair, found, alone, runner, min(most, MOST_SWAPPED), progress)
            keep(found)
        except CaptureFailed as failed:
            found.notes.append(str(failed))
    return replace(found, seconds=time.monotonic() - began)


def _measured(pair: Pair, done: Sequence[Once], began: float) -> Measurement:
    sides, notes = [], list(pair.notes)
    for arm in (pair.a, pair.b):
        own = [process for process in done if process.arm == arm.label]
        clocks = [process.clock_mhz for process in own if process.clock_mhz is not None]
        versions = sorted({process.torch for process in own})
        clock = statistics.median(clocks) if clocks else None
        sides.append(Side(times(done, arm.label), clock, ", ".join(versions)))
    counts = Counter(why for process in done for why in process.disturbed)
    return Measurement(
        sides, compare_arms(done, pair.a.label, pair.b.label), notes=notes,
        disturbed=[why for why, _ in counts.most_common(5)],
        disturbed_processes=sum(bool(process.disturbed) for process in done),
        seconds=time.monotonic() - began,
    )  # fmt: skip


def _with_causes(pair: Pair, found: Measurement, done: Sequence[Once]) -> Measurement:
    groups: dict[str, tuple[Cause, Times]] = {}
    for name, group in pair.groups.items():
        a, b = (
            [sum(process.step.kernels.get(kernel, 0.0) for kernel in kernels) / 1000
             for process in done if process.arm == arm.label]
            for arm, kernels in ((pair.a, group.a), (pair.b, group.b))
        )  # fmt: skip
        changes = Counter(row.change for row in group.rows if row.change != SAME_CODE)
        change = changes.most_common(1)[0][0] if changes else SAME_CODE
        # A replayed CUDA graph has no operators, so what they start has no time of its own there.
        is_known = any(a) and any(b) if group.a and group.b else any(a) or any(b)
        if is_known:
            cause = Cause(
                name=name, a=_kernels(kernel for row in group.rows for kernel in row.a),
                b=_kernels(kernel for row in group.rows for kernel in row.b), change=change,
                a_ms=0.0, b_ms=0.0, judged=None, share=NOTHING, why_not_alone=group.why_not_alone,
                why_not_swapped=group.why_not_swapped,
            )  # fmt: skip
            groups[name] = cause, (a, b)
    step = times(done, pair.a.label), times(done, pair.b.label)
    same = [values for cause, values in groups.values() if cause.change == SAME_CODE]
    groups |= _around(pair, done, [values for _, values in groups.values()])
    causes, rest = causes_of(step, groups)
    return replace(
        found, causes=causes, rest=rest, same_code=share_of_all(step, same) if same else None
    )


def _around(
    pair: Pair, done: Sequence[Once], known: Sequence[Times]
) -> Iterator[tuple[str, tuple[Cause, Times]]]:
    """Yields the time that a step spends outside of the known kernels, by part."""
    sides = [
        [_outside(ended, sum(work[side][number] for work in known))
         for number, ended in enumerate(process for process in done if process.arm == arm.label)]
        for side, arm in enumerate((pair.a, pair.b))
    ]  # fmt: skip
    for name in dict.fromkeys(name for side in sides for own in side for name in own):
        a, b = ([own.get(name, 0.0) for own in side] for side in sides)
        if any(a) or any(b):
            yield name, (Cause(name, [], [], "", 0.0, b_ms=0.0, judged=None, share=NOTHING), (a, b))


def _outside(once: Once, known_ms: float) -> dict[str, float]:
    """Returns milliseconds by part of a step."""
    found = {name: us / 1000 for name, us in once.step.around.items()}
    work_ms = once.step.work / 1000
    if work_ms and not found:
        found[IDLE] = max(once.ms - work_ms, 0.0)
    return found | {OTHERS: max(work_ms - known_ms, 0.0)}


def _with_alone(found: Measurement, alone: dict[str, Alone]) -> Measurement:
    judged = judge_all({name: (pair.a, pair.b) for name, pair in alone.items() if pair.a})
    causes = [
        replace(cause, alone=judged.get(cause.name), why_not_alone=alone[cause.name].error)
        if cause.name in alone
        else cause
        for cause in found.causes
    ]
    return replace(found, causes=causes)


def _with_swaps(
    pair: Pair, found: Measurement, alone: dict[str, Alone], runner: Runner, most: int,
    progress: Progress,
) -> Measurement:  # fmt: skip
    """Runs up to `most` of the kernels that matter most in each other's wrapper."""
    chosen: dict[str, tuple[Arm, Arm]] = {}
    causes = {cause.name: cause for cause in found.causes}
    for name, cause in causes.items():
        group = pair.groups.get(name)
        if group is None or group.swaps is None:
            continue
        if not alone[name].agrees:
            causes[name] = replace(cause, why_not_swapped=alone[name].error or OTHER_RESULTS)
        elif abs(cause.share.share) < WORTH_SWAPPING:
            continue
        elif len(chosen) >= most:
            causes[name] = replace(cause, why_not_swapped=NO_TIME)
        else:
            chosen[name] = (
                replace(pair.a, label=f"A with B's {name}", swap=group.swaps[0]),
                replace(pair.b, label=f"B with A's {name}", swap=group.swaps[1]),
            )
    if chosen:
        arms = [pair.a, *(arm for both in chosen.values() for arm in both), pair.b]
        budget = Budget(math.inf, LOOKS[0])
        done = turns(arms, runner.once, budget, progress, lambda _: None)
        a, b = times(done, pair.a.label), times(done, pair.b.label)
        for name, (in_a, in_b) in chosen.items():
            swapped = Swapped(
                share_of((a, b), (a, times(done, in_a.label))),
                share_of((a, b), (times(done, in_b.label), b)),
            )
            causes[name] = replace(causes[name], swapped=swapped)
    return replace(found, causes=list(causes.values()))


def _kernels(calls: Iterable[KernelCalls]) -> list[Kernel]:
    return [Kernel(call.graph, call.kernel, call.handle, call.kind, call.calls) for call in calls]
