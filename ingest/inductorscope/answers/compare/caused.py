"""What caused a measured difference, line by line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inductorscope import urls
from inductorscope.analyze.measure.result import SAME_CODE, Cause, Kernel, Measurement, Share
from inductorscope.fields import Prose
from inductorscope.formats.vocabulary import EXTERN
from inductorscope.units import percent, plural

SMALL = 0.01
"""Causes with a smaller share of the difference are one line."""
VISIBLE = 0.0005
"""A smaller share is written as 0."""
CLOCKS = 0.01
"""Clocks that differ by less are equal."""
SHOWN = 3


@dataclass(frozen=True, slots=True)
class CauseLine:
    """A part of the difference; the lines sum to all of it."""

    share: Share
    more_ms: float
    """What B's step takes more."""
    text: Prose
    href: str
    """Page with the evidence."""

    @property
    def words(self) -> str:
        low, share, high = map(percent, (self.share.low, self.share.share, self.share.high))
        return f"{share} ({low} to {high}): {self.text}"


def cause_lines(
    found: Measurement,
    runs: tuple[str, str] = ("", ""),
    notes: Mapping[str, Sequence[str]] | None = None,
    events: str = "",
) -> list[CauseLine]:
    """The largest share first, and what is not explained. `notes`: name of a kernel → reasons for
    its change; `events`: what compiling did more or less often."""
    if found.rest is None or found.judged is None:
        return []
    more_ms = found.judged.b_ms - found.judged.a_ms
    page = urls.compare(*runs)
    same = [one for one in found.causes if found.same_code and one.change == SAME_CODE]
    others = [one for one in found.causes if one not in same]
    slowest = next((one for one in others if not one.a and not one.b), None)
    parts = [
        (one.share, _words(one, notes or {}, events if one is slowest else ""),
         _address(one, runs) or f"{page}#compiling")
        for one in others
    ]  # fmt: skip
    if found.same_code:
        address = _address(same[0], runs) if len(same) == 1 else f"{page}#kernels"
        parts.append((found.same_code, _same_code(found, same, notes or {}), address))
    large = sorted((one for one in parts if abs(one[0].share) >= SMALL),
                   key=lambda one: -abs(one[0].share))  # fmt: skip
    if small := [one[0] for one in parts if abs(one[0].share) < SMALL]:
        share = Share(*(sum(getattr(one, name) for one in small) for name in Share.__slots__))
        if abs(share.share) >= VISIBLE:
            large.append((share, plural(len(small), "smaller cause"), f"{page}#measured"))
    large.append((found.rest, "unexplained", f"{page}#measured"))
    return [CauseLine(share, share.share * more_ms, *words) for share, *words in large]


def in_short(lines: Sequence[CauseLine]) -> str:
    """The first lines, the sum of others, and what is not explained."""
    *causes, rest = lines
    parts = [one.words for one in causes[:SHOWN]]
    if left := sum(one.share.share for one in causes[SHOWN:]):
        parts.append(f"{percent(left)}: {plural(len(causes) - SHOWN, 'other line')}")
    return "; ".join([*parts, f"{percent(rest.share.share)} {rest.text}"])


def named(cause: Cause) -> str:
    """The kernels and what became of them, or the part of the step."""
    kernels = cause.a or cause.b
    if not kernels:
        return cause.name
    more = f" and {len(kernels) - 1} more" if len(kernels) > 1 else ""
    split = f" in {len(cause.b)}" if cause.change == "split" else ""
    return f"`{kernels[0].kernel}`{more}, {cause.change}{split}"


def _words(cause: Cause, notes: Mapping[str, Sequence[str]], events: str) -> str:
    if not cause.a and not cause.b:
        return named(cause) + (f" ({events})" if events else "")
    text = "; ".join([named(cause), *_reasons(cause, notes)])
    if cause.swapped:
        both = [percent(one.share) for one in (cause.swapped.in_a, cause.swapped.in_b)]
        text += f"; B's kernel adds {both[0]} to A, A's takes {both[1]} from B"
    return text


def _reasons(cause: Cause, notes: Mapping[str, Sequence[str]]) -> Sequence[str]:
    return next((notes[one.kernel] for one in cause.a or cause.b if one.kernel in notes), ())


def _same_code(
    found: Measurement, same: Sequence[Cause], notes: Mapping[str, Sequence[str]]
) -> str:
    judged = [one for one in same if one.judged and one.judged.answer in ("slower", "faster")]
    reasons = dict.fromkeys(why for one in judged for why in _reasons(one, notes))
    answers = " or ".join(sorted({one.judged.answer for one in judged if one.judged}))
    names = ", ".join(f"`{(one.a or one.b)[0].kernel}`" for one in judged[:SHOWN])
    words = f"{plural(len(judged or same), 'kernel')} {answers or 'with other times'}"
    words += f" at the same code{f' ({names})' if names else ''}{_clocks(found)}"
    return "; ".join([words, *reasons])


def _clocks(found: Measurement) -> str:
    a, b = (side.clock_mhz for side in found.sides)
    if not a or not b:
        return ""
    return ", clocks equal" if abs(b - a) < CLOCKS * a else f", clocks {a:,.0f} → {b:,.0f} MHz"


def _address(cause: Cause, runs: tuple[str, str]) -> str:
    """Both kernels side by side, or the page of the one."""
    sides = [
        (run, next((one for one in side if one.kind != EXTERN), None))
        for run, side in zip(runs, (cause.a, cause.b), strict=True)
    ]
    known = [(run, one) for run, one in sides if one]
    if len(known) == 2:
        return urls.beside(*(_text(run, one) for run, one in known))
    if known:
        run, one = known[0]
        return urls.kernel(run, one.graph, one.kernel, one.handle)
    return next(
        (urls.graph(run, side[0].graph) for run, side in zip(runs, (cause.a, cause.b), strict=True)
         if side), "",
    )  # fmt: skip


def _text(run: str, kernel: Kernel) -> str:
    return f"{run}/{kernel.graph}/kernel/{kernel.kernel}"
