"""The verdict on a kernel: is it correct, honest, faster; with reasons and figures."""

import re
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from inductorscope.analyze.compile.difference import Difference, difference
from inductorscope.analyze.measure.judge import Judged, judge
from inductorscope.fields import Prose
from inductorscope.units import milliseconds, plural, signed_percent

Answer = Literal["yes", "no", "not known"]
TOLD = 3
"""Most reasons that are told."""
MOST_DIFFERENT = 400
"""Most instructions of a difference that is kept."""
_ADDRESS = re.compile(r"0x[0-9a-f]{1,16}(?=\(%rip\))|\+0x[0-9a-f]{1,16}(?=>)")


class Part(msgspec.Struct, frozen=True):
    """One of the three questions."""

    answer: Answer = "not known"
    reasons: list[Prose] = []
    """Sentences: why it is no, or not known."""
    checked: list[Prose] = []
    """What was looked at."""


class ShapeResult(msgspec.Struct, frozen=True):
    """How a kernel did at one shape."""

    sizes: dict[str, int]
    """Symbol → value; empty if the graph has none."""
    ok: bool
    why: Prose = ""
    share: float = 0.0
    """The largest error as a share of what is allowed."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What the judge says of a kernel."""

    accepted: bool = False
    """Whether it is correct and honest."""
    correct: Part = Part()
    honest: Part = Part()
    faster: Part = Part()
    in_step: Part | None = None
    """Whether the program's step is faster with it, if that was measured."""
    judged: Judged | None = None
    """Times of a call: A is the original, B the candidate."""
    step: Judged | None = None
    """Times of a step, likewise."""
    shapes: list[ShapeResult] = []
    gb_per_s: float | None = None
    resources: dict[str, Any] = {}
    """Registers, spills and shared memory of a Triton kernel."""
    before: dict[str, Any] = {}
    """Those of the original."""
    machine: Difference | None = None
    """How the machine code of a C++ kernel differs from the original's, as its process says."""
    unconfined: dict[str, str] = {}
    """Protections that are missing here, with the reason."""
    error: str = ""
    """Why it did not run: a compiler's message, or how its process ended."""
    seconds: float = 0.0


def concluded(
    error: str, wrong: Sequence[str], dishonest: Sequence[str], shapes: list[ShapeResult],
    times: tuple[list[float], list[float]], *, tested: int, against_eager: bool, nbytes: int,
    resources: tuple[dict[str, Any], dict[str, Any]], seconds: float, disturbed: str,
) -> Verdict:  # fmt: skip
    """Makes the verdict of what was found."""
    judged = judge(*times) if times[1] and not (error or dishonest) else None
    before, after = ([*map(str, part.pop("instructions", []))] for part in resources)
    further = plural(max(len(shapes) - 1, 0), "further shape")
    beside = "eager, float64 and the original" if against_eager else "the original alone"
    checked = [f"{plural(tested, 'call')}, at {further} that the guards allow, beside {beside}."]
    if not against_eager:
        checked.append("The graph's texts do not say which FX nodes compute it.")
    reasons = [*wrong[:TOLD], *([error.partition("\n")[0]] if error else [])]
    failed = bool(wrong or (error and not dishonest))
    unknown: Answer = "not known" if error or wrong else "yes"
    return Verdict(
        accepted=not (wrong or dishonest or error),
        correct=Part("no" if failed else "yes", reasons, checked),
        honest=Part("no" if dishonest else unknown, list(dishonest[:TOLD])),
        faster=of_time(judged, "A call", disturbed),
        judged=judged,
        shapes=shapes,
        gb_per_s=nbytes / judged.b_ms / 1e6 if judged and nbytes else None,
        before=resources[0],
        resources=resources[1],
        machine=_compared(before, after) if before and after else None,
        error=error,
        seconds=seconds,
    )


def _compared(before: list[str], after: list[str]) -> Difference:
    """Compares instructions, without the addresses in them."""
    keys = tuple([_ADDRESS.sub("", line) for line in code] for code in (before, after))
    found = difference(before, after, keys=(keys[0], keys[1]))
    if found.gone + found.new > MOST_DIFFERENT:
        found.hunks = []
    return found


def of_time(judged: Judged | None, what: str, disturbed: str = "") -> Part:
    """Says whether it is faster. `what`: a call or a step. `disturbed`: what makes its times
    worthless."""
    if judged is None:
        return Part(reasons=["It was not timed."])
    said = (
        f"{what} takes {milliseconds(judged.b_ms)}, the original's {milliseconds(judged.a_ms)}: "
        f"{signed_percent(judged.shift)} "
        f"({signed_percent(judged.low)} to {signed_percent(judged.high)})"
    )
    if disturbed or judged.answer == "cannot tell":
        return Part("not known", [f"{said}.", disturbed or "The interval is too wide to tell."])
    if judged.answer == "faster":
        return Part("yes", checked=[f"{said}."])
    return Part("no", [f"{said}; {judged.answer}."])


def verdict_lines(verdict: Verdict) -> list[str]:
    """Returns the verdict as plain lines."""
    lines = ["Accepted: correct and honest." if verdict.accepted else "Rejected."]
    for name in ("correct", "honest", "faster", "in_step"):
        part: Part | None = getattr(verdict, name)
        if part is None:
            continue
        lines.append(f"{name.replace('_', ' the ')}: {part.answer}")
        lines += [f"  {sentence}" for sentence in (*part.reasons, *part.checked)]
    lines += verdict.error.splitlines()[1:13]
    lines += [f"Not confined here: {name}: {why}" for name, why in verdict.unconfined.items()]
    return lines
