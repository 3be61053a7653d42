"""What a start consists of, and how long it would take without a part of it."""

from collections import defaultdict

import msgspec

from inductorscope.analyze.compile.model import Compile, Story
from inductorscope.analyze.compile.phases import CPP_FILE
from inductorscope.fields import Prose
from inductorscope.formats.capture_facts import ScriptStart
from inductorscope.formats.vocabulary import (
    CACHES,
    CPP,
    DYNAMO,
    OTHER,
    RECORDING,
    STARTS,
    TRITON,
    TUNING,
    WORKS,
)

IMPORTS, PROGRAM, WAITING, REST = (part.id for part in STARTS)
KEPT = (DYNAMO, CACHES, RECORDING, OTHER)
"""Work that a compile from a cache does too."""
UNCACHED = frozenset({"bypass", "disabled", "pickle failure", "exception"})
LEAST = 0.01
"""Share of a start that a prediction must save."""
WARM, PACKAGED = "a warm cache folder", "a package of the caches"


class Start(msgspec.Struct, frozen=True):
    """What the thread that starts did, and what ran beside it."""

    parts: dict[str, float]
    """Microseconds by kind of work, in order. They add up to the whole."""
    beside: dict[str, float]
    """Work of other threads and of workers that compile kernels."""
    compiles: list[Compile]
    from_exec: bool
    """Whether it begins with the process: of a captured script."""


class Prediction(msgspec.Struct, frozen=True):
    """The start with something else, as predicted from its phases."""

    title: Prose
    predicted_s: float
    saved_s: float
    how: Prose


class TriedStart(msgspec.Struct):
    """A start as tried in fresh processes: medians."""

    title: str
    times: int
    measured_s: float
    """Until the end of the first step that compiled."""
    predicted_s: float | None
    """From each cold start."""


def start_of(story: Story, script: ScriptStart | None = None, pid: int | None = None) -> Start:
    """Returns the start of a captured script's process until its first step that compiled had
    ended; without one, of the process with the longest log from its first to its last event."""
    logs = [
        (log.end_us - log.start_us, number)
        for number, log in enumerate(story.logs)
        if log.start_us is not None and log.end_us is not None and pid in (None, log.pid)
    ]
    whole, number = max(logs, default=(0.0, -1))
    own = [(compile_.start_us or 0.0, compile_) for compile_ in story.compiles
           if compile_.log == number and compile_.start_us is not None]  # fmt: skip
    parts: dict[str, float] = {}
    if script is not None and script.compile_s is not None and script.step_s is not None:
        whole = 1e6 * (script.step_s - script.compile_s)
        end = min((began for began, _ in own), default=0.0) + whole
        own = [(began, compile_) for began, compile_ in own if began < end]
        parts = {IMPORTS: script.torch_s * 1e6, PROGRAM: (script.compile_s - script.torch_s) * 1e6}
    kinds, beside = defaultdict[str, float](float), defaultdict[str, float](float)
    for _, compile_ in own:
        kinds[CPP if CPP in compile_.phases else TRITON] -= compile_.waited_us
        kinds[WAITING] += compile_.waited_us
        for kind in compile_.phases:
            kinds[kind] += _own(compile_, kind)
        for kind, us in compile_.beside.items():
            beside[kind] += us
    rest = max(0.0, whole - sum(kinds.values()))
    for kind, us in story.logs[number].outside.items() if logs else ():
        kinds[kind] += min(us, rest)
        rest -= min(us, rest)
    numbers = {compile_.number for _, compile_ in own}
    beside[TRITON] += sum(row.us or 0.0 for row in story.kernels if row.compile in numbers)
    order = (*(work.id for work in WORKS), WAITING)
    parts |= {kind: kinds[kind] for kind in order if kinds[kind] > 0} | {REST: rest}
    meanwhile = {kind: us for kind, us in beside.items() if us > 0}
    parts = parts if logs or script else {}
    return Start(parts, meanwhile, [compile_ for _, compile_ in own], script is not None)


def predictions(story: Story, start: Start, by_regions_us: float = 0.0) -> list[Prediction]:
    """Returns what the start would take otherwise; what would hardly change it is left out."""
    refused = {event.compile for event in story.caches if event.outcome in UNCACHED}
    cached = [compile_ for compile_ in start.compiles if compile_.number not in refused]
    by_caches = 0.0
    for compile_ in cached:
        gone = sum(_own(compile_, kind) for kind in compile_.phases if kind not in KEPT)
        by_caches += max(0.0, gone - compile_.loading_us)
    compilers = sum(compile_.waited_us for compile_ in cached if CPP in compile_.phases)
    longest = [row.us or 0.0 for row in story.kernels]
    longest += [phase.longest_us for phase in story.phases if phase.name == CPP_FILE]
    waited = start.parts.get(WAITING, 0.0)
    by_workers = min(waited / 2, waited - max(longest, default=0.0))
    found = (
        (WARM, by_caches, "All but Dynamo, keys and loading code is taken off each compile that no "
         "cache refused."),
        (PACKAGED, by_caches - compilers, "With `torch.compiler.load_cache_artifacts`: as with a "
         "warm folder, but C++ kernels, which it lacks, are compiled again."),
        ("no autotuning", start.parts.get(TUNING, 0.0), "The time in autotuning is taken off."),
        ("twice as many compile workers", by_workers,
         "Waiting for them takes half as long, but no less than the longest kernel."),
        ("equal graphs compiled once", by_regions_us, "The diagnosis predicts it: all compiles of "
         "equal code but the slowest are taken off."),
    )  # fmt: skip
    whole = sum(start.parts.values())
    return [
        Prediction(title, (whole - us) / 1e6, us / 1e6, how)
        for title, us, how in found
        if us > LEAST * whole
    ]


def _own(compile_: Compile, kind: str) -> float:
    """Microseconds of a kind of work in the compile's own thread."""
    return compile_.phases.get(kind, 0.0) - compile_.beside.get(kind, 0.0)
