"""Measures two captured runs beside each other, and finds what caused the difference."""

from __future__ import annotations

import importlib.util
import re
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.analyze.benchmark.case import NoCase
from inductorscope.analyze.measure.judge import LOOKS, judge_all
from inductorscope.analyze.measure.result import (
    NOTHING,
    Cause,
    Flipped,
    Kernel,
    Measurement,
    Side,
    Times,
    causes_of,
    share_of,
)
from inductorscope.answers.compare.compare import compare_page
from inductorscope.answers.compare.inputs import OF_EACH_RUN
from inductorscope.answers.compare.page import GroupRow, KernelCalls
from inductorscope.answers.explorer.benchmark import case_of
from inductorscope.answers.missing import NotHere
from inductorscope.capturing.benchmark.run import BenchmarkFailed
from inductorscope.capturing.benchmark.text import case_text
from inductorscope.capturing.measure.alone import Alone, Group, run_alone
from inductorscope.capturing.measure.processes import (
    Arm,
    Once,
    Runner,
    at_revision,
    main_file,
)
from inductorscope.capturing.measure.turns import Budget, beside, times, turns
from inductorscope.capturing.spec import CaptureSpec
from inductorscope.capturing.watch import CaptureFailed
from inductorscope.formats.vocabulary import SOURCE
from inductorscope.jobs.work.diagnosis import captured_spec
from inductorscope.jobs.work.task import WorkRefused
from inductorscope.progress import Progress
from inductorscope.settings import Settings
from inductorscope.store.contents.texts import read_blob
from inductorscope.store.tables.models import Artifact, Run

MOST_GROUPS = 40
MOST_CASES = 8
"""Kernels of one side of a group that are run by themselves."""
MOST_SETTINGS = 8
FLIPPED = ("args", "mode", "dynamic", "dtype", "backend", "device", "function")
"""Options of a capture that are flipped alone; keys of its `config` are too."""
Flip = tuple[Arm, str, str | None, str | None]
"""What is run, the setting's name, and its values in A and B."""
NO_SCIPY = "Measuring needs scipy: pip install 'inductorscope[capture]'."
# extern_kernels.mm, torch.ops.aten.mm.default
_EXTERN = re.compile(r"^(?:extern_kernels|torch\.ops\.(\w+))\.(\w+)")


@dataclass(frozen=True)
class Version:
    """A program under another torch, or as it was in another revision."""

    kind: Literal["python", "revision"]
    value: str

    def of(self, arm: Arm) -> Arm:
        """Raises SpecError."""
        label = f"{arm.label} with {self.kind} {self.value}"
        if self.kind == "python":
            return replace(arm, label=label, python=self.value)
        return replace(arm, label=label, sources=at_revision(arm.spec, self.value))


@dataclass(frozen=True)
class Asked:
    """How to measure."""

    seconds: float = 600.0
    processes: int = LOOKS[-1]
    settings: bool = False
    """Whether to flip each setting that differs alone."""
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
            if any(row.change != "same code" for row in found):
                pair.cases[name] = _cases(session, run, other, found, specs[0].device)
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
    flips = list(_flips(pair)) if asked.settings else []
    if asked.versions:
        arms = [version.of(pair.a) for version in asked.versions]
        pair.b = replace(arms.pop(), label=pair.b.label)
        flips += [
            (arm, version.kind, None, version.value)
            for arm, version in zip(arms, asked.versions, strict=False)
        ]
    arms = [pair.a, *(flip[0] for flip in flips), pair.b]
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
            found = _with_alone(pair, found, run_alone(cases, folder / "alone", settings, progress))
        except (BenchmarkFailed, CaptureFailed) as failed:
            found.notes.append(str(failed))
    return replace(found, seconds=time.monotonic() - began)


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
        case = pair.cases.get(name)
        changes = Counter(row.change for row in rows if row.change != "same code")
        change = changes.most_common(1)[0][0] if changes else "same code"
        cause = Cause(
            name, _kernels(one for row in rows for one in row.a),
            _kernels(one for row in rows for one in row.b), change, 0.0, 0.0, None, NOTHING,
            why_not_alone=case if isinstance(case, str) else "",
        )  # fmt: skip
        if any(map(any, pairs)):
            groups[name] = cause, (pairs[0], pairs[1])
    step = times(done, pair.a.label), times(done, pair.b.label)
    causes, rest = causes_of(step, groups)
    return replace(found, causes=causes, rest=rest)


def _with_alone(pair: Pair, found: Measurement, alone: dict[str, Alone]) -> Measurement:
    judged = judge_all({name: (each.a, each.b) for name, each in alone.items() if each.a})
    causes = [
        replace(cause, alone=judged.get(cause.name), why_not_alone=alone[cause.name].error)
        if cause.name in alone
        else cause
        for cause in found.causes
    ]
    return replace(found, causes=causes)


def _flipped(flips: Sequence[Flip], done: Sequence[Once], *, differ: bool) -> list[Flipped]:
    a, b = times(done, "A"), times(done, "B")
    judged = judge_all({name: (a, times(done, arm.label)) for arm, name, _, _ in flips})
    shown = [
        Flipped(name, ours, theirs, judged[name],
                share_of((a, b), (a, times(done, arm.label))) if differ else None)
        for arm, name, ours, theirs in flips
    ]  # fmt: skip
    return sorted(shown, key=lambda one: -abs(one.judged.shift))


def _flips(pair: Pair) -> Iterator[Flip]:
    """A with each setting of B alone, if several differ."""
    a, b = pair.a.spec, pair.b.spec
    found: list[tuple[str, object, object, Arm]] = []
    for name in FLIPPED:
        ours, theirs = getattr(a, name), getattr(b, name)
        if ours != theirs:
            spec = msgspec.structs.replace(a, **{name: theirs})
            found.append((name, ours, theirs, replace(pair.a, spec=spec)))
    for key in sorted({*a.config, *b.config}):
        if a.config.get(key) != b.config.get(key):
            config = {**a.config, key: b.config.get(key)}
            plain = {name: value for name, value in config.items() if value is not None}
            spec = msgspec.structs.replace(a, config=plain)
            found.append((key, a.config.get(key), b.config.get(key), replace(pair.a, spec=spec)))
    for name, value in pair.b.environment.items():
        arm = replace(pair.a, environment={**pair.a.environment, name: value})
        found.append((name, pair.a.environment[name], value, arm))
    if pair.a.sources != pair.b.sources:
        found.append(("source", None, "of B", replace(pair.a, sources=pair.b.sources)))
    if len(found) < 2:
        return
    for name, ours, theirs, arm in found[:MOST_SETTINGS]:
        label = f"A with {name} of B"
        words = [None if value is None else str(value) for value in (ours, theirs)]
        yield replace(arm, label=label), name, words[0], words[1]


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


def _cases(
    session: Session, run: str, other: str, rows: list[GroupRow], device: str
) -> Group | str:
    sides: list[list[tuple[str, int]]] = []
    for of, kernels in ((run, [k for row in rows for k in row.a]),
                        (other, [k for row in rows for k in row.b])):  # fmt: skip
        if not kernels or len(kernels) > MOST_CASES:
            return "Only one run has these kernels." if not kernels else "It has too many kernels."
        try:
            cases = [
                (case_of(session, of, one.graph, one.kernel, one.handle), one.calls)
                for one in kernels
            ]
        except (NoCase, NotHere) as error:
            return str(error)
        sides.append([(case_text(case.case, case.origin), calls) for case, calls in cases])
    return Group(device, *sides)


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
