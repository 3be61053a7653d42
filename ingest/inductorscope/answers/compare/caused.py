"""The causes of a measured difference, line by line."""

from collections.abc import Mapping, Sequence

import msgspec

from inductorscope import urls
from inductorscope.analyze.measure.result import SAME_CODE, Cause, Measurement, Share
from inductorscope.fields import Prose
from inductorscope.formats.vocabulary import EXTERN
from inductorscope.units import percent, plural

SMALL = 0.01
"""Causes with a smaller share of the difference are summed up in one line."""
VISIBLE = 0.0005
"""A smaller share is shown as 0."""
CLOCKS = 0.01
"""A smaller difference between clocks does not count."""
SHOWN = 3

Notes = Mapping[tuple[str, str], Sequence[str]]
"""Graph and kernel of A, or of B if A has none → reasons for its change."""


class CauseLine(msgspec.Struct, frozen=True):
    """A part of the difference. All lines together sum to it."""

    share: Share
    more_ms: float
    """Additional time of B's step."""
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
    notes: Notes | None = None,
    events: str = "",
) -> list[CauseLine]:
    """Returns the causes, the largest share first, then what is not explained. `events`: what
    happened more or less often in compiling."""
    if found.rest is None or found.judged is None:
        return []
    more_ms = found.judged.b_ms - found.judged.a_ms
    page = urls.compare(*runs)
    same = [cause for cause in found.causes if found.same_code and cause.change == SAME_CODE]
    parts: list[tuple[Share, str, str]] = []
    for cause in found.causes:
        if cause.a or cause.b:
            if cause not in same:
                parts.append((cause.share, _words(cause, notes or {}), _address(cause, runs)))
        else:
            text = f"{cause.name} ({events})" if events else cause.name
            parts.append((cause.share, text, f"{page}#compiling"))
            events = ""  # of the largest part of the step's time outside kernels
    if found.same_code:
        address = _address(same[0], runs) if len(same) == 1 else f"{page}#kernels"
        parts.append((found.same_code, _same_code(found, same, notes or {}), address))
    large = sorted((part for part in parts if abs(part[0].share) >= SMALL),
                   key=lambda part: -abs(part[0].share))  # fmt: skip
    if small := [share for share, _, _ in parts if abs(share.share) < SMALL]:
        # Adding the ends of the intervals gives an interval that is wide enough.
        share = Share(
            *(sum(getattr(part, name) for part in small) for name in Share.__struct_fields__)
        )
        if abs(share.share) >= VISIBLE:
            large.append((share, plural(len(small), "smaller cause"), f"{page}#measured"))
    large.append((found.rest, "unexplained", f"{page}#measured"))
    return [CauseLine(share, share.share * more_ms, *words) for share, *words in large]


def in_short(lines: Sequence[CauseLine]) -> str:
    """Returns the first lines, the sum of others, and what is not explained."""
    *causes, rest = lines
    parts = [cause.words for cause in causes[:SHOWN]]
    if left := sum(cause.share.share for cause in causes[SHOWN:]):
        parts.append(f"{percent(left)}: {plural(len(causes) - SHOWN, 'other line')}")
    return "; ".join([*parts, f"{percent(rest.share.share)} {rest.text}"])


def _words(cause: Cause, notes: Notes) -> str:
    """Describes the kernels, what they became and why."""
    kernels = cause.a or cause.b
    more = f" and {len(kernels) - 1} more" if len(kernels) > 1 else ""
    split = f" in {len(cause.b)}" if cause.change == "split" else ""
    text = f"`{kernels[0].kernel}`{more}, {cause.change}{split}"
    text = "; ".join([text, *_reasons(cause, notes)])
    if cause.swapped:
        both = [percent(side.share) for side in (cause.swapped.in_a, cause.swapped.in_b)]
        text += f"; B's kernel adds {both[0]} to A, A's takes {both[1]} from B"
    return text


def _reasons(cause: Cause, notes: Notes) -> Sequence[str]:
    known = (notes.get((kernel.graph, kernel.kernel), ()) for kernel in cause.a or cause.b)
    return next(filter(None, known), ())


def _same_code(found: Measurement, same: Sequence[Cause], notes: Notes) -> str:
    answer = ""  # what these kernels are together
    if found.judged is not None and found.same_code is not None:
        more_ms = found.same_code.share * (found.judged.b_ms - found.judged.a_ms)
        answer = "slower" if more_ms > 0 else "faster"
    judged = [cause for cause in same if cause.judged and cause.judged.answer == answer]
    reasons = dict.fromkeys(why for cause in judged for why in _reasons(cause, notes))
    names = ", ".join(f"`{(cause.a or cause.b)[0].kernel}`" for cause in judged[:SHOWN])
    words = f"{plural(len(judged or same), 'kernel')} {answer if judged else 'with other times'}"
    words += f" at the same code{f' ({names})' if names else ''}{_clocks(found)}"
    return "; ".join([words, *reasons])


def _clocks(found: Measurement) -> str:
    a, b = (side.clock_mhz for side in found.sides)
    if not a or not b:
        return ""
    return ", clocks equal" if abs(b - a) < CLOCKS * a else f", clocks {a:,.0f} → {b:,.0f} MHz"


def _address(cause: Cause, runs: tuple[str, str]) -> str:
    """Returns the page with both kernels side by side, or of a single kernel; for library kernels,
    of the graph."""
    sides = list(zip(runs, (cause.a, cause.b), strict=True))
    own = [(run, [kernel for kernel in side if kernel.kind != EXTERN][:1]) for run, side in sides]
    known = [(run, kernel) for run, first in own for kernel in first]
    if len(known) == 2:
        return urls.beside(*(f"{run}/{call.graph}/kernel/{call.kernel}" for run, call in known))
    if known:
        ((run, one),) = known
        return urls.kernel(run, one.graph, one.kernel, one.handle)
    return next(urls.graph(run, side[0].graph) for run, side in sides if side)
