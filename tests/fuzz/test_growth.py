"""Work on a text grows in step with the text: readers, links, and what pages compute from them.

A sample of the texts runs here, always the same. With `INDUCTORSCOPE_FUZZ_CASES` another and larger
sample runs, of texts up to 4 MB.
"""

import inspect
import os
import random
import sys
import time
from types import FrameType

import pytest

from tests.fuzz.growth import STEEP, Pump, growth
from tests.fuzz.subjects import CPU, SUBJECTS, Subject, modules, pumps

ASKED = int(os.environ.get("INDUCTORSCOPE_FUZZ_CASES", "0"))
BUDGET = 20.0 if ASKED else 0.03
"""Seconds of processor time for one subject."""
SIZES = ((16_000, 64_000), (1_000_000, 4_000_000)) if ASKED else ((4_000, 16_000),)
CHEAP = 250e-9
"""Seconds a character: below, growth is not looked at."""
NOT_FROM_TEXTS = (
    "inductorscope.analyze.time.", "inductorscope.analyze.timeline.",
    "inductorscope.analyze.measure.", "inductorscope.analyze.roofline.",
    "inductorscope.analyze.trial.catalogue", "inductorscope.analyze.trial.numerics",
    "inductorscope.analyze.trial.result", "inductorscope.analyze.machine.geometry",
    "inductorscope.analyze.ranks.lateness", "inductorscope.analyze.ranks.hang",
    "inductorscope.analyze.guards.savings", "inductorscope.analyze.compile.remedies",
    "inductorscope.analyze.verdicts", "inductorscope.analyze.values.printing",
    "inductorscope.analyze.failures.report", "inductorscope.analyze.failures.export",
    "inductorscope.analyze.compile.advice", "inductorscope.analyze.compile.breaks",
    "inductorscope.analyze.compile.metrics", "inductorscope.analyze.compile.recompiles",
    "inductorscope.analyze.compile.words", "inductorscope.analyze.compare.waterfall",
    "inductorscope.analyze.compare.changes", "inductorscope.analyze.compile.reuse",
    "inductorscope.analyze.trial.facts", "inductorscope.formats.code.short_names",
    "inductorscope.correlate.annotate.files", "inductorscope.correlate.directory",
    "inductorscope.analyze.judging.verdict",
)  # fmt: skip
"""Modules that get short values of records, or folders, and leave texts to others."""

CODE = CPU.code or ""
BY_NAME = {subject.name: subject for subject in SUBJECTS}
KERNEL_LINE = next(line for line in CODE.split("\n") if "auto tmp0 = " in line)
BEFORE, AFTER = CODE.split(KERNEL_LINE + "\n", 1)
SEEN = [
    ("failures of an error", Pump("/tmp/a.cpp:26:58: error: ", "invalid operands (", "\n")),
    ("failures of an error", Pump("/tmp/a.cpp:26:58: error: ", "deduced conflicting ‘", "\n")),
    ("failures of an error", Pump("a.cpp:2:5: error: ", "no matching function for call to ‘")),
    ("failures of a code", Pump(BEFORE, KERNEL_LINE + "\n", AFTER, counts=True)),
    ("fusing of cpu's code", Pump(BEFORE, "ptr0[", "\n" + AFTER)),
    ("fusing of cpu's code", Pump(BEFORE, "in_ptr0 + ", "\n" + AFTER)),
    ("reasons of cpu's code", Pump(BEFORE + "auto tmp0 = ", "a", ";\n" + AFTER)),
    ("links of cpu's code", Pump(BEFORE, "'", "\n" + AFTER)),
    ("links of cpu's code", Pump(BEFORE, '"""', "\n" + AFTER)),
]
"""Attacks that once took a server's time, and their like."""


def steepness(subject: Subject, pump: Pump, small: int, large: int) -> str:
    ratio = growth(subject.work, pump, small, large, CHEAP * small)
    return f"{ratio:.1f} for {pump}" if ratio > STEEP else ""


@pytest.mark.parametrize("subject", SUBJECTS, ids=str)
def test_work_grows_with_the_text(subject: Subject) -> None:
    cases = list(pumps(subject))
    random.Random(None if ASKED else subject.name).shuffle(cases)
    steep: list[str] = []
    end = time.thread_time() + BUDGET
    for pump in cases:
        steep += filter(None, (steepness(subject, pump, *sizes) for sizes in SIZES))
        if time.thread_time() > end or len(steep) > 3:
            break
    assert not steep, "\n".join(steep)


@pytest.mark.parametrize(("name", "pump"), SEEN, ids=lambda value: str(value)[-60:])
def test_attacks_that_were_seen(name: str, pump: Pump) -> None:
    assert not steepness(BY_NAME[name], pump, 25_000, 100_000)


def test_no_reader_is_missing() -> None:
    """The subjects reach every module that reads texts or works on what was read."""
    reached: set[str] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            reached.add(frame.f_globals.get("__name__", ""))

    for module in modules():
        for value in vars(module).values():
            if hasattr(value, "cache_clear"):  # what is kept from other tests is not called again
                value.cache_clear()
    for subject in SUBJECTS:
        for seed in subject.seeds:
            sys.setprofile(note)
            subject.work(seed)
            sys.setprofile(None)
    missing = [
        module.__name__
        for module in modules()
        if any(map(inspect.isfunction, vars(module).values()))
        and module.__name__ not in reached
        and not module.__name__.startswith(NOT_FROM_TEXTS)
    ]
    assert not missing, "\n".join(missing)
