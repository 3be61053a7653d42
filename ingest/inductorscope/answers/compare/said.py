"""Describes the difference of two runs in sentences, the inputs first."""

from collections import Counter
from collections.abc import Iterable, Iterator
from math import fsum

from inductorscope.analyze.measure.judge import Answer
from inductorscope.analyze.verdicts import Level
from inductorscope.answers.compare.compiling import IN_EVERY_STEP, described
from inductorscope.answers.compare.history import Levels
from inductorscope.answers.compare.inputs import COMMIT
from inductorscope.answers.compare.measured import LEVELS, MeasuredShown
from inductorscope.answers.compare.page import Difference, GroupRow, KernelCalls, Said
from inductorscope.formats.vocabulary import EXTERN
from inductorscope.units import (
    microseconds,
    middle,
    milliseconds,
    percent,
    plural,
    seconds,
    signed_microseconds,
    size_in_bytes,
    some,
)

CANNOT_TELL = (
    "Processes of one program differ too, so one run of each cannot tell whether this difference "
    "is real"
)
SMALL = 0.02
"""A part of the difference is not mentioned if its share of A's step is smaller."""
SHOWN = 3
LONG = 60
"""Most characters of a value in a sentence."""


def sentences(
    page: Difference, measured: MeasuredShown, verdict: Answer, levels: Levels | None
) -> list[Said]:
    """Returns the sentences; a single one if nothing differs."""
    if page.same:
        return [Said("good", "the same", "This is one run: nothing differs.", "")]
    found = [*_inputs(page)]
    if measured.complete:
        found.append(Said(LEVELS.get(verdict, "note"), verdict, measured.text, "measured"))
    found += _time(page, measured, levels)
    found += [*_structure(page), *_compiling(page), *_memory(page)]
    if not found:
        return [Said("good", "the same", "Nothing differs.", "")]
    if not page.step.measured and not measured.complete:
        found.append(Said("note", "cost unknown", f"To compare times, {page.step.words}.", "time"))
    return found


def _inputs(page: Difference) -> Iterator[Said]:
    inputs = page.inputs
    if any(row.name == "torch" for row in inputs):
        inputs = [row for row in inputs if row.name != COMMIT]
    if inputs:
        first = [f"{row.name} ({_change(row.a, row.b)})" for row in inputs[:SHOWN]]
        yield Said("note", "inputs differ", f"{some(first, SHOWN, len(inputs))}.", "inputs")
    if page.sources:
        rows = sorted(page.sources, key=lambda row: row.difference is None)[:SHOWN]
        names = [
            row.path.rpartition("/")[2]
            + ("" if row.difference else f" (only in {'B' if row.a is None else 'A'})")
            for row in rows
        ]
        yield Said("note", "source differs", f"{some(names, SHOWN, len(page.sources))}.", "sources")


def _time(page: Difference, measured: MeasuredShown, levels: Levels | None) -> Iterator[Said]:
    step = page.step
    more = step.more_us
    if not step.measured or not more:
        return
    sign = "longer" if more > 0 else "shorter"
    share = f" ({percent(abs(more) / step.a.step_us)})" if step.a.step_us else ""
    if not measured.complete:
        text = (
            f"A step of B is {microseconds(abs(more))}{share} {sign}: "
            f"{microseconds(step.a.step_us)} → {microseconds(step.b.step_us)}."
        )
        if levels is None:
            measure = "" if measured.refusal else "; measure both to find out"
            yield Said("note", "cannot tell", f"{text} {CANNOT_TELL}{measure}.", "time")
        else:
            yield Said("fact", "a step", text, "time")
            yield _level(levels)
    bars = sorted(page.bars, key=lambda bar: -abs(bar.more_us))
    shown = [bar for bar in bars if abs(bar.more_us) > SMALL * step.a.step_us][:SHOWN]
    if shown and not measured.complete:
        parts = [f"{signed_microseconds(bar.more_us)} {bar.title}" for bar in shown]
        text = f"{'; '.join(parts)}."
        if any(bar.part == "idle" for bar in shown) and step.a.step_us and step.b.step_us:
            shares = [percent(side.idle_us / side.step_us) for side in (step.a, step.b)]
            text += f" {shares[0]} of A's step and {shares[1]} of B's are idle."
        yield Said("fact", "where", text, "time")


def _level(levels: Levels) -> Said:
    """Says whether the runs are at different levels, judged by all runs of the name."""
    among = f"Among {plural(levels.runs, 'run')} of this name,"
    if levels.same:
        text = f"{among} no change is found between A and B, near {milliseconds(levels.a_ms)}."
        return Said("good", "the same level", text, "time")
    text = (
        f"{among} a step changes its level between A and B: {milliseconds(levels.a_ms)} in "
        f"{plural(levels.a_runs, 'run')}, {milliseconds(levels.b_ms)} in {levels.b_runs}."
    )
    return Said("warn" if levels.b_ms > levels.a_ms else "good", "another level", text, "time")


def _structure(page: Difference) -> Iterator[Said]:
    for row in page.compiling.events:
        if row.kind in IN_EVERY_STEP:
            level: Level = "warn" if row.b > row.a else "good"
            text = f"{described(row)}: {row.a} in A, {row.b} in B."
            yield Said(level, row.kind, text, "compiling")
    if page.node_count:
        gone = Counter(row.target for row in page.nodes if row.side == "a")
        new = Counter(row.target for row in page.nodes if row.side == "b")
        parts = [
            f"{plural(counts.total(), 'node')} only in {side} ({_targets(counts)})"
            f"{_lines(page, side.lower())}"
            for side, counts in (("A", gone), ("B", new))
            if counts
        ]
        yield Said("fact", "graphs differ", f"{' and '.join(parts)}.", "graphs")
    changed = [row for row in page.groups if row.change != "same code"]
    if changed:
        parts = [
            f"{count} {change}{_more(row for row in changed if row.change == change)}"
            for change, count in Counter(row.change for row in changed).most_common()
        ]
        first = [_kernels(row) for row in changed[:SHOWN]]
        text = f"Of {plural(page.group_count, 'group')} of kernels: {', '.join(parts)}"
        us = fsum(row.more_us or 0.0 for row in changed)
        # If kernels and the rest cancel out, a share of the remaining difference is meaningless.
        if page.step.measured and page.step.more_us and 0 < us / page.step.more_us <= 1:
            text += f", {percent(us / page.step.more_us)} of the difference together"
        which = "The largest of these" if page.step.measured else "Among them"
        text += f". {which}: {'; '.join(first)}."
        alike = [row for row in page.groups if row.change == "same code" and row.more_us]
        if page.step.measured and alike:
            text += f" The other {page.group_count - page.changed} have the same code"
            text += f"{_more(alike)}; the largest: {_kernels(alike[0])}."
        yield Said("fact", "kernels differ", text, "kernels")
    if page.machine:
        parts = [
            f"`{row.b.kernel}` ({row.a.spills} → {row.b.spills} spills, "
            f"{row.a.instructions} → {row.b.instructions} instructions)"
            for row in page.machine[:SHOWN]
            if not row.missing
        ]
        text = (
            some(parts, SHOWN, len(page.machine)) if parts else plural(len(page.machine), "kernel")
        )
        yield Said("fact", "machine code differs", f"{text}.", "machine")


def _kernels(row: GroupRow) -> str:
    """Describes the kernels on both sides: names, what changed, where they come from and what it
    costs."""
    sides = [side for side in (row.a, row.b) if side]
    if len({side[0].kernel for side in sides}) == 1:
        sides = sides[-1:]
    names = [
        f"`{_name(side[0])}`" + (f" and {len(side) - 1} more" if len(side) > 1 else "")
        for side in sides
    ]
    about = [f"`{row.line}`"] if row.line else []
    if row.more_us:
        about.append(signed_microseconds(row.more_us))
    return f"{' → '.join(names)} {row.change}" + (f" ({', '.join(about)})" if about else "")


def _name(one: KernelCalls) -> str:
    """Cuts the middle of a kernel's name, except of library calls, which differ in the middle."""
    return one.kernel.removeprefix("torch.ops.") if one.kind == EXTERN else middle(one.kernel)


def _more(rows: Iterable[GroupRow]) -> str:
    """Returns their additional time."""
    known = [row.more_us for row in rows if row.more_us is not None]
    return f" ({signed_microseconds(fsum(known))})" if known else ""


def _lines(page: Difference, side: str) -> str:
    """Returns the lines with the most nodes that only this run has."""
    lines = Counter(
        f"{row.path.rpartition('/')[2]}:{row.line}"
        for row in page.nodes
        if row.side == side and row.path
    )
    first = [f"`{line}`" for line, _ in lines.most_common(SHOWN)]
    return f" at {some(first, SHOWN, len(lines))}" if lines else ""


def _compiling(page: Difference) -> Iterator[Said]:
    a, b = page.compiling.a_seconds, page.compiling.b_seconds
    if a and b and abs(b - a) > SMALL * a:
        most = "".join(
            f"; of the work in them, {row.name} differs most "
            f"({signed_microseconds(row.b_us - row.a_us)})"
            for row in page.compiling.phases[:1]
        )
        yield Said(
            "fact",
            "compile time",
            f"Compiles take {seconds(a)} in A, {seconds(b)} in B from start to end{most}.",
            "compiling",
        )


def _memory(page: Difference) -> Iterator[Said]:
    peak = page.peak
    if peak and abs(peak.b.bytes - peak.a.bytes) > SMALL * peak.a.bytes:
        text = (
            f"{size_in_bytes(peak.a.bytes)} at the peak in A, {size_in_bytes(peak.b.bytes)} in B."
        )
        yield Said("fact", "memory", f"The wrappers allocate {text}", "memory")


def _targets(counts: Counter[str]) -> str:
    first = [
        f"{count} `{name.removeprefix('torch.ops.')}`" for name, count in counts.most_common(SHOWN)
    ]
    return some(first, SHOWN, len(counts))


def _change(a: str | None, b: str | None) -> str:
    """Returns both values; if they are long, without the beginning that they share."""
    same = 0
    if a and b and max(len(a), len(b)) > LONG:
        apart = (at for at, pair in enumerate(zip(a, b, strict=False)) if pair[0] != pair[1])
        same = a.rfind(" ", 0, next(apart, min(len(a), len(b)))) + 1
    return " → ".join(
        "not set" if value is None else _short("…" * bool(same) + value[same:]) for value in (a, b)
    )


def _short(value: str) -> str:
    return value if len(value) <= LONG else f"{value[: LONG - 3]}…"
