"""Compares two programs of locks: what got worse, what got better, and what is only different."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Literal

import msgspec

from inductorscope.analyze.compare.lines import moved_lines
from inductorscope.contract.lock import BY_ID, COUNTS, Count, LockError, Program
from inductorscope.contract.project import PLACES
from inductorscope.units import microseconds, size_in_bytes

Verdict = Literal["worse", "better", "changed", "allowed"]

_BUDGET = re.compile(r"(?:(<=|>=|==|=|<|>)\s*)?(\d[\d_]*(?:\.\d+)?)\s*(x|%)?")
_TIMES = re.compile(r" ×(\d+)$")


class Difference(msgspec.Struct, frozen=True):
    """The difference in one count, and in what was counted."""

    verdict: Verdict
    text: str
    """`graph breaks: 0 → 1`."""
    gone: list[str] = msgspec.field(default_factory=list)
    new: list[str] = msgspec.field(default_factory=list)
    fix: str = ""


class Compared(msgspec.Struct, frozen=True):
    """A program as locked and as it is now."""

    model: str
    differences: list[Difference]
    """Worse ones first."""
    notes: list[str]
    """Changes in what it was compiled with."""

    @property
    def passes(self) -> bool:
        return all(difference.verdict in ("better", "allowed") for difference in self.differences)


def compare(locked: Program, now: Program) -> Compared:
    """Compares a locked program with the same one now. Raises LockError for a budget that cannot be
    read."""
    unknown = locked.budgets.keys() - BY_ID.keys()
    if unknown:
        raise LockError(f"There is no count {min(unknown)!r}; {', '.join(BY_ID)} may have budgets.")
    moved = _moved(locked, now)
    notes = [
        f"{name}: {was} → {now.made[name]}"
        for name, was in locked.made.items()
        if now.made.get(name, was) != was
    ]
    known = (locked.counts.keys() & now.counts.keys()).difference(_loops_unknown(locked, now))
    found = [
        difference
        for count in COUNTS
        if count.id in known
        and all(locked.made.get(name) == now.made.get(name) for name in count.made)
        for difference in _compared(count, locked, now, moved)
    ]
    order = ("worse", "changed", "better", "allowed")
    found.sort(key=lambda row: order.index(row.verdict))
    return Compared(locked.model, found, notes)


def _loops_unknown(locked: Program, now: Program) -> tuple[str, ...]:
    """Returns the counts of loops if they cannot be compared: if a run lacks their record, or the
    processors differ, and so their vectors. A program without C++ kernels has no loops."""
    known = [side.made.get("instructions") for side in (locked, now) if side.counts.get("kernels")]
    return () if len({*known}) < 2 and None not in known else ("vector_loops", "scalar_loops")


def _compared(
    count: Count, locked: Program, now: Program, moved: dict[tuple[str, int], int]
) -> Iterator[Difference]:
    was, value = locked.counts[count.id], now.counts[count.id]
    before = counted(_follow(text, moved) for text in locked.details.get(count.id, ()))
    after = counted(now.details.get(count.id, ()))
    gone, new = (_listed(one - other) for one, other in ((before, after), (after, before)))
    budget = locked.budgets.get(count.id)
    text = f"{count.title}: {figure_text(count, was)} → {figure_text(count, value)}"
    if count.unit and was:
        text += f" ({(value - was) / was:+.1%})"
    if budget is not None:
        if not within(budget, was, value):
            yield Difference("worse", f"{text}, and the budget is {budget}", gone, new, count.fix)
        elif value != was or gone or new:
            yield Difference("allowed", f"{text}, within the budget {budget}", gone, new)
    elif value != was:
        verdict: Verdict = "changed"
        if count.increase == "worse":
            verdict = "worse" if value > was else "better"
        yield Difference(verdict, text, gone, new, count.fix if verdict == "worse" else "")
    elif gone or new:
        yield Difference(
            "changed", f"{count.title}: {figure_text(count, was)}, but others", gone, new
        )


def within(budget: str, was: int, value: int) -> bool:
    """Returns whether a value keeps a budget: `<= 14`, `<= 1.02x` of what was locked, `1`. Raises
    LockError."""
    match = _BUDGET.fullmatch(budget.strip())
    if match is None:
        raise LockError(f"The budget {budget!r} cannot be read; write <= 14 or <= 1.02x.")
    sign, number, unit = match.groups()
    limit = float(number.replace("_", ""))
    limit *= {"x": was, "%": was / 100, None: 1}[unit]
    return {
        "<=": value <= limit, ">=": value >= limit, "<": value < limit, ">": value > limit,
    }.get(sign, value == limit)  # fmt: skip


def figure_text(count: Count, value: int) -> str:
    """Formats a count with its unit."""
    if count.unit == "ns":
        return microseconds(value / 1000)
    return size_in_bytes(value) if count.unit == "bytes" else f"{value:,}"


def _moved(locked: Program, now: Program) -> dict[tuple[str, int], int]:
    """Maps file and line in the lock to the line now."""
    return {
        (file, was): is_
        for file, lines in locked.source.items()
        for is_, was in moved_lines(_text(lines), _text(now.source.get(file, []))).items()
    }


def _text(lines: list[str]) -> list[str]:
    """Returns a file's lines, blank where they are not known."""
    known = {int(number): code for number, _, code in (line.partition(": ") for line in lines)}
    return [known.get(number, "") for number in range(1, max(known, default=0) + 1)]


def _follow(text: str, moved: dict[tuple[str, int], int]) -> str:
    """Returns a detail with its lines moved to where they are now."""

    def place(match: re.Match[str]) -> str:
        numbers = [int(number) for number in match.group(1).split(", ")]
        now = sorted(moved.get((match.group(2), number), number) for number in numbers)
        return f"line{'s' if len(now) > 1 else ''} {', '.join(map(str, now))} of {match.group(2)}"

    return PLACES.sub(place, text)


def counted(texts: Iterator[str] | list[str] | tuple[()]) -> Counter[str]:
    """Returns details without `×2` at their ends → how often."""
    found: Counter[str] = Counter()
    for text in texts:
        times = _TIMES.search(text)
        found[text[: times.start()] if times else text] += int(times.group(1)) if times else 1
    return found


def _listed(counted: Counter[str]) -> list[str]:
    return sorted(f"{text} ×{times}" if times > 1 else text for text, times in counted.items())
