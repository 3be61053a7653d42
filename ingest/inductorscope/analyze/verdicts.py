"""Verdicts on a run, in sentences."""

from typing import Literal

import msgspec

from inductorscope.fields import Prose
from inductorscope.units import microseconds, milliseconds, percent, plural, ratio

Level = Literal["good", "fact", "note", "warn", "bad"]

SLOWER, FASTER = 0.97, 1.03
"""Speed-ups between these count as equal, because repeated timings on one machine differ by that
much."""

LONGER = 3
"""If profiled kernel time divided by the timed step exceeds this, the profile contradicts the
timings: neither concurrent streams nor the profiler's overhead explain that much."""


Spread = tuple[float, float]


class Verdict(msgspec.Struct, frozen=True):
    """One verdict."""

    level: Level
    label: str
    """One or two words for a chip."""
    text: Prose
    """The sentence."""


class Busy(msgspec.Struct, frozen=True):
    """How much of a trace had work."""

    on_device: bool
    busy_us: float
    span_us: float


class Facts(msgspec.Struct, frozen=True):
    """The facts for the verdicts; None if unknown."""

    failure: str | None
    """What failed, as a sentence."""
    eager_ms: float | None
    compiled_ms: float | None
    graph_breaks: int | None
    recompiles: int | None
    dropped: int
    kernel_us: float | None = None
    """Time of all kernels of a profiled step."""
    busy: Busy | None = None
    """How busy the run's trace was."""
    eager_spread: Spread | None = None
    """Time of an eager step, from 10 to 90 % of its runs, in milliseconds."""
    compiled_spread: Spread | None = None
    nothing_compiled: bool = False
    """Whether it was captured, and compiled nothing."""
    uncompiled: bool = False
    """Whether its profiled steps call no compiled code."""
    disturbed: bool = False
    """Whether other work slowed it down while it was measured."""
    reading: bool = False
    """Whether files are still being read, so that these facts are incomplete."""


def verdicts(facts: Facts) -> list[Verdict]:
    """Returns the verdicts, never empty: the first says whether the program works and how fast it
    is."""
    if facts.reading:
        return [Verdict("note", "being read", "The files are still being read.")]
    # Breaks and recompiles matter more than how busy the device was; having none matters less.
    compiling = sorted([*_trace(facts), *_breaks(facts)], key=lambda found: found.level != "warn")
    findings = [
        *_failure(facts),
        *_speed(facts),
        *_profile(facts),
        *compiling,
        *_dropped(facts),
    ]
    if not findings:
        findings.append(
            Verdict("note", "no timings", "No step was timed, so the speed is unknown.")
        )
    return findings


def _failure(facts: Facts) -> list[Verdict]:
    if facts.failure is None:
        return []
    # The page of failures shows the rest of the message.
    return [Verdict("bad", "failed", facts.failure.strip().partition("\n")[0].rstrip(": "))]


def _speed(facts: Facts) -> list[Verdict]:
    if facts.nothing_compiled:
        text = "Nothing was compiled: the program calls no compiled function, or compiling is off."
        return [Verdict("warn", "nothing compiled", text)]
    if not facts.eager_ms or not facts.compiled_ms:
        return []
    if facts.uncompiled:
        text = f"No profiled step calls compiled code: it takes {milliseconds(facts.compiled_ms)}, "
        text += f"and {milliseconds(facts.eager_ms)} without torch.compile."
        return [Verdict("warn", "runs uncompiled", text)]
    times = facts.eager_ms / facts.compiled_ms
    eager, compiled = facts.eager_spread, facts.compiled_spread
    if (
        eager is not None
        and compiled is not None
        and eager[0] <= facts.compiled_ms <= eager[1]
        and compiled[0] <= facts.eager_ms <= compiled[1]
    ):
        return [
            Verdict(
                "note",
                "no difference measured",
                f"Eager and compiled runs overlap: a step takes {milliseconds(facts.compiled_ms)} "
                f"compiled ({_range(compiled)}), {milliseconds(facts.eager_ms)} eager "
                f"({_range(eager)}; from 10 to 90 % of the runs).",
            )
        ]
    both = (
        f"a step takes {milliseconds(facts.compiled_ms)} compiled, "
        f"{milliseconds(facts.eager_ms)} eager."
    )
    apart = eager is None or compiled is None or compiled[1] < eager[0]
    if facts.disturbed and (times < SLOWER or (times >= FASTER and not apart)):
        return [Verdict("warn", "disturbed", f"Other work disturbed the timings: {both}")]
    if times < SLOWER:
        return [Verdict("bad", "slower than eager", f"Compiled code is slower: {both}")]
    if times < FASTER:
        return [Verdict("note", "as fast as eager", f"Compiled code is about as fast: {both}")]
    return [Verdict("good", "faster", f"{ratio(times)} faster: {both}")]


def _profile(facts: Facts) -> list[Verdict]:
    why = slowdown_warning(facts.kernel_us, facts.compiled_ms)
    return [] if why is None else [Verdict("warn", "profile slowed down", why)]


def _trace(facts: Facts) -> list[Verdict]:
    """Judges runs without timings, whose speed only a trace can show."""
    busy = facts.busy
    if busy is None or (facts.eager_ms and facts.compiled_ms):
        return []
    what = "device" if busy.on_device else "main thread"
    share = busy.busy_us / busy.span_us
    label = f"{what.removeprefix('main ')} {percent(share)} busy"
    times = f"{microseconds(busy.busy_us)} of the trace's {microseconds(busy.span_us)}"
    return [Verdict("fact", label, f"The {what} had work for {times}.")]


def slowdown_warning(kernel_us: float | None, compiled_ms: float | None) -> str | None:
    """Returns a warning if the profile contradicts the timings."""
    if not kernel_us or not compiled_ms or kernel_us < LONGER * compiled_ms * 1000:
        return None
    return (
        f"Kernels of a profiled step took {microseconds(kernel_us)}, but a timed step takes only "
        f"{milliseconds(compiled_ms)}: something slowed the profiled run down. Trust shares rather "
        "than times, or capture again while nothing else runs."
    )


def _breaks(facts: Facts) -> list[Verdict]:
    counts = (facts.graph_breaks, "graph break"), (facts.recompiles, "recompile")
    parts = [plural(number, what) for number, what in counts if number]
    if parts:
        return [Verdict("warn", ", ".join(parts), f"The log has {' and '.join(parts)}.")]
    if facts.graph_breaks == 0 and facts.recompiles == 0:
        return [Verdict("good", "no breaks", "No graph breaks and no recompiles.")]
    return []


def _dropped(facts: Facts) -> list[Verdict]:
    if not facts.dropped:
        return []
    were = "was" if facts.dropped == 1 else "were"
    parts = plural(facts.dropped, "part")
    return [Verdict("note", "partly read", f"{parts} of the files {were} left out.")]


def _range(spread: Spread) -> str:
    return f"{milliseconds(spread[0])} to {milliseconds(spread[1])}"
