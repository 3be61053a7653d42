"""What there is to say about a run, in plain words before any number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["good", "note", "warn", "bad"]

SLOWER, FASTER = 0.97, 1.03
"""Speed-ups between these are called equal: timings of one machine differ by that much."""

LONGER = 3
"""Times as long as a whole step as it was timed that its kernels take, of which no streams side by
side and no profiler are the cause."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One finding."""

    level: Level
    label: str
    """A word or two for a chip."""
    text: str
    """The sentence."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What verdicts are made of; None where nothing is known."""

    failure: str | None
    """What did not succeed, as a sentence."""
    eager_ms: float | None
    compiled_ms: float | None
    graph_breaks: int | None
    recompiles: int | None
    dropped: int
    kernel_us: float | None = None
    """Of all kernels of a profiled step."""
    reading: bool = False
    """The files are still being read: what is known so far says nothing of the whole."""


def verdicts(facts: Facts) -> list[Verdict]:
    """The findings, the gravest first; never empty."""
    if facts.reading:
        return [Verdict("note", "being read", "Its files are still being read.")]
    found = [
        *_failure(facts),
        *_speed(facts),
        *_profile(facts),
        *_breaks(facts),
        *_dropped(facts),
    ]
    order = ("bad", "warn", "note", "good")
    found.sort(key=lambda verdict: order.index(verdict.level))
    if not found:
        found.append(
            Verdict(
                "note", "no timings", "The files hold no timings, so there is no speed to judge."
            )
        )
    return found


def _failure(facts: Facts) -> list[Verdict]:
    if facts.failure is None:
        return []
    # The rest of the message is on the page of failures, taken apart.
    return [Verdict("bad", "failed", facts.failure.strip().partition("\n")[0].rstrip(": "))]


def _speed(facts: Facts) -> list[Verdict]:
    if not facts.eager_ms or not facts.compiled_ms:
        return []
    ratio = facts.eager_ms / facts.compiled_ms
    times = f"{_time(facts.compiled_ms)} compiled against {_time(facts.eager_ms)} eager a step."
    if ratio < SLOWER:
        return [Verdict("bad", "slower than eager", f"Compiling made it slower: {times}")]
    if ratio < FASTER:
        return [Verdict("note", "as fast as eager", f"Compiling changed little: {times}")]
    return [Verdict("good", "faster", f"{ratio:.2f}× faster: {times}")]


def _profile(facts: Facts) -> list[Verdict]:
    why = held_up(facts.kernel_us, facts.compiled_ms)
    return [] if why is None else [Verdict("warn", "profile held up", why)]


def held_up(kernel_us: float | None, compiled_ms: float | None) -> str | None:
    """What to mind where the profile contradicts the timings."""
    if not kernel_us or not compiled_ms or kernel_us < LONGER * compiled_ms * 1000:
        return None
    return (
        f"Kernels of a profiled step took {_time(kernel_us / 1000)}, a whole step "
        f"{_time(compiled_ms)} when it was timed: something held up what was profiled. Mind "
        "shares rather than times, or capture again while nothing else runs."
    )


def _breaks(facts: Facts) -> list[Verdict]:
    parts = []
    if facts.graph_breaks:
        parts.append(_count(facts.graph_breaks, "graph break"))
    if facts.recompiles:
        parts.append(_count(facts.recompiles, "recompile"))
    if parts:
        both = " and ".join(parts)
        return [Verdict("warn", ", ".join(parts), f"The log tells of {both}.")]
    if facts.graph_breaks == 0 and facts.recompiles == 0:
        return [Verdict("good", "healthy", "No graph breaks and no recompiles.")]
    return []


def _dropped(facts: Facts) -> list[Verdict]:
    if not facts.dropped:
        return []
    said = (
        f"{_count(facts.dropped, 'thing')} in the files {'was' if facts.dropped == 1 else 'were'}"
    )
    return [Verdict("note", "partly read", f"{said} left out.")]


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _time(milliseconds: float) -> str:
    """Three digits, in the unit that suits."""
    if milliseconds < 1:
        return f"{_three(milliseconds * 1000)} µs"
    return (
        f"{_three(milliseconds)} ms" if milliseconds < 1000 else f"{_three(milliseconds / 1000)} s"
    )


def _three(number: float) -> str:
    return f"{number:,.{max(0, 2 - len(str(int(number))) + 1)}f}"
