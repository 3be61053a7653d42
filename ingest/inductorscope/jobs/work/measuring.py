"""Measures two captured runs beside each other, and finds what caused the difference."""

from __future__ import annotations

import importlib.util
import math
import re
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.analyze.benchmark.case import NoCase
from inductorscope.analyze.measure.judge import LOOKS, judge_all
from inductorscope.analyze.measure.result import (
    NOTHING,
    SAME_CODE,
    Cause,
    Flipped,
    Kernel,
    Measurement,
    Search,
    Side,
    Swapped,
    Times,
    causes_of,
    share_of,
    share_of_all,
)
from inductorscope.answers.compare.compare import compare_page
from inductorscope.answers.compare.inputs import OF_EACH_RUN
from inductorscope.answers.compare.page import GroupRow, KernelCalls
from inductorscope.answers.explorer.benchmark import case_of
from inductorscope.answers.missing import NotHere
from inductorscope.capturing.benchmark.run import BenchmarkFailed
from inductorscope.capturing.benchmark.text import case_text
from inductorscope.capturing.launch import Swap
from inductorscope.capturing.measure.alone import Alone, Group, run_alone
from inductorscope.capturing.measure.processes import Arm, Once, Runner, main_file
from inductorscope.capturing.measure.turns import Budget, beside, times, turns
from inductorscope.capturing.spec import CaptureSpec
from inductorscope.capturing.watch import CaptureFailed
from inductorscope.formats.vocabulary import SOURCE
from inductorscope.jobs.work.bisecting import ByTime, search_settings
from inductorscope.jobs.work.diagnosis import captured_spec
from inductorscope.jobs.work.settings import Setting, Version, settings_between
from inductorscope.jobs.work.swapping import OTHER_RESULTS, SEVERAL, NoSwap, swaps_of
from inductorscope.jobs.work.task import WorkRefused
from inductorscope.progress import Progress
from inductorscope.settings import Settings
from inductorscope.store.contents.texts import read_blob
from inductorscope.store.tables.models import Artifact, Run

MOST_GROUPS = 40
MOST_CASES = 8
"""Kernels of one side of a group that are run by themselves."""
MOST_SETTINGS = 8
MOST_SWAPPED = 3
WORTH_SWAPPING = 0.05
"""A smaller share of the difference is not."""
WHOLE = 0.8
"""A setting that alone makes so much of the difference is its cause."""
OTHERS = "other kernels and operators"
IDLE = "the GPU waits for the program"
NO_TIME = "No time was left to swap the kernels."
NO_SCIPY = "Measuring needs scipy: pip install 'inductorscope[capture]'."
# extern_kernels.mm, torch.ops.aten.mm.default
_EXTERN = re.compile(r"^(?:extern_kernels|torch\.ops\.(\w+))\.(\w+)")


@dataclass(frozen=True)
class Asked:
    """How to measure."""

    seconds: float = 600.0
    processes: int = LOOKS[-1]
    settings: bool = False
    """Whether to give A each setting of B alone, and then several together."""
    versions: tuple[Version, ...] = ()
    """Versions of A to run in turns with it, the last one as B. Only a person at the machine may
    choose them."""


@dataclass
class Pair:
    """Two runs, ready to be measured."""

    a: Arm
    b: Arm
    groups: dict[str, tuple[list[GroupRow], set[str], set[str]]] = field(default_factory=dict)
    """Rows that share a kernel's name, since the profiler tells kernels by name; the names of A's
    kernels and of B's."""
    cases: dict[str, Group | str] = field(default_factory=dict)
    """Test cases of groups whose code differs, or why there are none."""
    swaps: dict[str, tuple[Swap, Swap] | str] = field(default_factory=dict)
    """What makes A run B's kernel and B run A's, or why they do not fit."""
    notes: list[str] = field(default_factory=list)


def load_pair(session: Session, run: str, other: str) -> Pair:
    """Raises Refused or WorkRefused with a sentence where one may not be run."""
    if importlib.util.find_spec("scipy") is None:
        raise WorkRefused(NO_SCIPY)
    specs = captured_spec(session, run), captured_spec(session, other)
    rows = session.get_one(Run, run), session.get_one(Run, other)
    notes: list[str] = []
    if rows[0].torch_version != rows[1].torch_version:
        notes.append(
            f"A was captured with torch {rows[0].torch_version}, B with {rows[1].torch_version}; "
            "both run with the one installed here. `inductorscope measure A --python …` compares "
            "several."
        )
    environments = [dict(row.environment.get("env") or {}) for row in rows]
    differing = {
        name
        for name in {*environments[0], *environments[1]} - OF_EACH_RUN
        if environments[0].get(name) != environments[1].get(name)
    }
    arms = [
        Arm(label, spec, _sources(session, row, spec, notes),
            environment={name: own.get(name) for name in differing})
        for label, spec, row, own in zip("AB", specs, rows, environments, strict=True)
    ]  # fmt: skip
    pair = Pair(arms[0], arms[1], notes=notes)
    if run != other:
        pair.groups = dict(_groups(compare_page(session, run, other).groups))
        for name, (found, _, _) in pair.groups.items():
            if any(row.change != SAME_CODE for row in found):
                _add_cases(session, pair, name, (run, other))
    return pair


def measure_pair(
    pair: Pair,
    asked: Asked,
    folder: Path,
    settings: Settings,
    progress: Progress,
    keep: Callable[[Measurement], None],
    *,
    trusted: bool = False,
) -> Measurement:
    """Runs both in turns until an answer, then what changed. `keep` gets the result so far.

    Raises CaptureFailed, SpecError."""
    runner = Runner(folder, settings, trusted=trusted)
    began = time.monotonic()
    every = settings_between(pair.a, pair.b) if asked.settings else []
    flips = _flips(pair.a, every) if len(every) > 1 else []
    if asked.versions:
        arms = [version.of(pair.a) for version in asked.versions]
        pair.b = replace(arms.pop(), label=pair.b.label)
        flips += [
            (arm, Setting(version.kind, None, version.value, version.of))
            for arm, version in zip(arms, asked.versions, strict=False)
        ]
    arms = [pair.a, *(arm for arm, _ in flips), pair.b]
    done = turns(
        arms, runner.once, Budget(asked.seconds, asked.processes), progress,
        lambda so_far: keep(_measured(pair, so_far, began)),
    )  # fmt: skip
    found = _measured(pair, done, began)
    if found.judged is None:
        return found
    if found.judged.answer not in ("slower", "faster"):
        return replace(found, flipped=_flipped(flips, done, differ=False))
    found = replace(_with_causes(pair, found, done), flipped=_flipped(flips, done, differ=True))
    keep(found)
    cases = {name: case for name, case in pair.cases.items() if isinstance(case, Group)}
    if cases:
        try:
            alone = run_alone(cases, folder / "alone", settings, progress)
            found = _with_alone(found, alone)
            keep(found)
            left = asked.seconds - (time.monotonic() - began)
            each = statistics.median(one.seconds for one in done)
            most = int(left / each / LOOKS[0] - 2) // 2
            found = _with_swaps(pair, found, alone, runner, min(most, MOST_SWAPPED), progress)
            keep(found)
        except (BenchmarkFailed, CaptureFailed) as failed:
            found.notes.append(str(failed))
    if len(every) > 1 and max(_shares(found), default=0.0) < WHOLE:

        def kept(search: Search) -> None:
            keep(replace(found, search=search))

        judge = ByTime(pair.a, pair.b, runner.once, asked.seconds, progress)
        found = replace(found, search=search_settings(pair.a, every, judge, kept))
    return replace(found, seconds=time.monotonic() - began)


def _shares(found: Measurement) -> list[float]:
    return [one.share.share for one in found.flipped if one.share is not None]


def _measured(pair: Pair, done: Sequence[Once], began: float) -> Measurement:
    sides, notes = [], list(pair.notes)
    for arm in (pair.a, pair.b):
        own = [each for each in done if each.arm == arm.label]
        clocks = [each.clock_mhz for each in own if each.clock_mhz is not None]
        versions = sorted({each.torch for each in own})
        clock = statistics.median(clocks) if clocks else None
        sides.append(Side([each.ms for each in own], clock, ", ".join(versions)))
    counts = Counter(why for each in done for why in each.disturbed)
    return Measurement(
        sides, beside(done, pair.a.label, pair.b.label), notes=notes,
        disturbed=[why for why, _ in counts.most_common(5)],
        disturbed_processes=sum(bool(each.disturbed) for each in done),
        seconds=time.monotonic() - began,
    )  # fmt: skip


def _with_causes(pair: Pair, found: Measurement, done: Sequence[Once]) -> Measurement:
    groups: dict[str, tuple[Cause, Times]] = {}
    for name, (rows, *names) in pair.groups.items():
        pairs = [
            [sum(each.kernels.get(kernel, 0.0) for kernel in kernels) / 1000
             for each in done if each.arm == arm.label]
            for arm, kernels in zip((pair.a, pair.b), names, strict=True)
        ]  # fmt: skip
        case, swap = pair.cases.get(name), pair.swaps.get(name)
        changes = Counter(row.change for row in rows if row.change != SAME_CODE)
        change = changes.most_common(1)[0][0] if changes else SAME_CODE
        cause = Cause(
            name, _kernels(one for row in rows for one in row.a),
            _kernels(one for row in rows for one in row.b), change, 0.0, 0.0, None, NOTHING,
            why_not_alone=case if isinstance(case, str) else "",
            why_not_swapped=swap if isinstance(swap, str) else "",
        )  # fmt: skip
        if any(map(any, pairs)):
            groups[name] = cause, (pairs[0], pairs[1])
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
    """What a step spends outside of the kernels that are known."""
    sides = [
        [_outside(each, sum(one[side][number] for one in known))
         for number, each in enumerate(each for each in done if each.arm == arm.label)]
        for side, arm in enumerate((pair.a, pair.b))
    ]  # fmt: skip
    for name in dict.fromkeys(name for side in sides for own in side for name in own):
        a, b = ([own.get(name, 0.0) for own in side] for side in sides)
        if any(a) or any(b):
            yield name, (Cause(name, [], [], "", 0.0, 0.0, None, NOTHING), (a, b))


def _outside(once: Once, known_ms: float) -> dict[str, float]:
    """Milliseconds by part of a step."""
    found = {name: us / 1000 for name, us in once.around.items()}
    work_ms = once.work / 1000
    if work_ms and not found:
        found[IDLE] = max(once.ms - work_ms, 0.0)
    return found | {OTHERS: max(work_ms - known_ms, 0.0)}


def _with_alone(found: Measurement, alone: dict[str, Alone]) -> Measurement:
    judged = judge_all({name: (each.a, each.b) for name, each in alone.items() if each.a})
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
    """Runs the kernels that matter most in each other's wrapper, `most` of them."""
    chosen: dict[str, tuple[Arm, Arm]] = {}
    causes = {cause.name: cause for cause in found.causes}
    for name, cause in causes.items():
        swaps = pair.swaps.get(name)
        if not isinstance(swaps, tuple):
            continue
        if not alone[name].agrees:
            causes[name] = replace(cause, why_not_swapped=alone[name].error or OTHER_RESULTS)
        elif abs(cause.share.share) < WORTH_SWAPPING:
            continue
        elif len(chosen) >= most:
            causes[name] = replace(cause, why_not_swapped=NO_TIME)
        else:
            chosen[name] = (
                replace(pair.a, label=f"A with B's {name}", swap=swaps[0]),
                replace(pair.b, label=f"B with A's {name}", swap=swaps[1]),
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


def _flips(a: Arm, settings: Sequence[Setting]) -> list[tuple[Arm, Setting]]:
    """A with each setting of B alone."""
    return [
        (replace(one.given(a), label=f"A with {one.name} of B"), one)
        for one in settings[:MOST_SETTINGS]
    ]


def _flipped(
    flips: Sequence[tuple[Arm, Setting]], done: Sequence[Once], *, differ: bool
) -> list[Flipped]:
    a, b = times(done, "A"), times(done, "B")
    judged = judge_all({arm.label: (a, times(done, arm.label)) for arm, _ in flips})
    shown = [
        Flipped(one.name, one.a, one.b, judged[arm.label],
                share_of((a, b), (a, times(done, arm.label))) if differ else None)
        for arm, one in flips
    ]  # fmt: skip
    return sorted(shown, key=lambda one: -abs(one.judged.shift))


def _groups(
    rows: Sequence[GroupRow],
) -> Iterator[tuple[str, tuple[list[GroupRow], set[str], set[str]]]]:
    """Rows that share a name on a side, together."""
    waiting = [
        ([row], {_profiled(one) for one in row.a}, {_profiled(one) for one in row.b})
        for row in rows[:MOST_GROUPS]
    ]
    while waiting:
        found, a, b = waiting.pop(0)
        again = True
        while again:
            near = [one for one in waiting if one[1] & a or one[2] & b]
            for one in near:
                waiting.remove(one)
                found, a, b = found + one[0], a | one[1], b | one[2]
            again = bool(near)
        yield min(a or b), (found, a, b)


def _profiled(kernel: KernelCalls) -> str:
    """How the profiler names a kernel."""
    match = _EXTERN.match(kernel.kernel) if kernel.kind == "extern" else None
    return f"{match[1] or 'aten'}::{match[2]}" if match else kernel.kernel


def _kernels(calls: Iterable[KernelCalls]) -> list[Kernel]:
    return [Kernel(one.graph, one.kernel, one.handle, one.kind, one.calls) for one in calls]


def _add_cases(session: Session, pair: Pair, name: str, runs: tuple[str, str]) -> None:
    """The test cases of a group's kernels, and what swaps them."""
    rows, _, _ = pair.groups[name]
    sides = [[one for row in rows for one in row.a], [one for row in rows for one in row.b]]
    pair.swaps[name] = SEVERAL
    if not all(sides):
        pair.cases[name] = "Only one run has these kernels."
        return
    if max(map(len, sides)) > MOST_CASES:
        pair.cases[name] = "It has too many kernels."
        return
    try:
        cases = [
            [(case_of(session, run, one.graph, one.kernel, one.handle), one.calls) for one in side]
            for run, side in zip(runs, sides, strict=True)
        ]
    except (NoCase, NotHere) as error:
        pair.cases[name] = pair.swaps[name] = str(error)
        return
    texts = [[(case_text(one.case, one.origin), calls) for one, calls in side] for side in cases]
    pair.cases[name] = Group(pair.a.spec.device, *texts)
    if len(cases[0]) == len(cases[1]) == 1:
        (a, _), (b, _) = cases[0][0], cases[1][0]
        try:
            configs = pair.a.spec.config, pair.b.spec.config
            pair.swaps[name] = swaps_of(a.case, b.case, *configs)
        except NoSwap as error:
            pair.swaps[name] = str(error)


def _sources(session: Session, run: Run, spec: CaptureSpec, notes: list[str]) -> dict[str, bytes]:
    """The run's source files that differ from those on the disk."""
    query = select(Artifact.path, Artifact.digest).where(
        Artifact.run_id == run.id, Artifact.role == SOURCE, Artifact.derived.is_(False)
    )
    main = main_file(spec)
    changed: dict[str, bytes] = {}
    for path, digest in session.execute(query):
        text = read_blob(session, digest)
        try:
            same = text is None or Path(path).read_bytes() == text
        except OSError:
            same = False
        if text is None or same or "site-packages" in path:
            continue
        if main is not None and Path(path).is_relative_to(main.parent):
            changed[path] = text
        else:
            notes.append(f"{path} has changed since {run.name} was captured, and runs as it is.")
    return changed
