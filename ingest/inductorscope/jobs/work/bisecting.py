"""Searches for the change that makes one program differ from another."""

import time
from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from msgspec.structs import replace

from inductorscope.analyze.measure.result import Search, Share, Try, share_of
from inductorscope.capturing.measure.processes import Arm, Once
from inductorscope.capturing.measure.turns import Budget, compare_arms, times, turns
from inductorscope.capturing.spec import SpecError
from inductorscope.capturing.watch import CaptureFailed
from inductorscope.jobs.work.settings import Setting, Version
from inductorscope.jobs.work.task import WorkRefused
from inductorscope.progress import Progress

LOOKS = (3, 6, 9)
"""Processes of each program after which to check for an answer. The program is close to one end and
far from the other, so this takes fewer than a difference of unknown size."""
Like = Literal["A", "B", ""]
Keep = Callable[[Search], None]


class Judge(Protocol):
    """Decides which of two programs, the ends, another one is like."""

    by: str

    def is_over(self) -> bool:
        """Returns whether the time is up."""

    def __call__(self, arm: Arm, name: str) -> Try:
        """Judges a program. Raises CaptureFailed, SpecError."""


class ByTime:
    """Runs the program in turns with both ends."""

    by = "time"

    def __init__(
        self, a: Arm, b: Arm, once: Callable[[Arm], Once], seconds: float, progress: Progress
    ) -> None:
        self.ends = a, b
        self.once = once
        self.until = time.monotonic() + seconds
        self.progress = progress

    def check(self) -> None:
        """Raises WorkRefused if the ends do not differ."""
        done = self._turns([*self.ends], Budget(self._left))
        judged = compare_arms(done, *(arm.label for arm in self.ends))
        if judged is None or judged.answer not in ("slower", "faster"):
            answer = judged.answer if judged else "cannot tell"
            raise WorkRefused(f"There is nothing to search for: {answer}.")

    def __call__(self, arm: Arm, name: str) -> Try:
        a, b = self.ends
        budget = Budget(self._left, LOOKS[-1], LOOKS)
        done = self._turns([a, arm, b], budget, lambda so_far: bool(self._like(so_far, arm)[0]))
        like, share = self._like(done, arm)
        return Try(name, like, share)

    def is_over(self) -> bool:
        return not self._left

    @property
    def _left(self) -> float:
        return max(self.until - time.monotonic(), 0.0)

    def _turns(
        self, arms: list[Arm], budget: Budget,
        answered: Callable[[Sequence[Once]], bool] | None = None,
    ) -> list[Once]:  # fmt: skip
        return turns(arms, self.once, budget, self.progress, lambda _: None, answered)

    def _like(self, done: Sequence[Once], arm: Arm) -> tuple[Like, Share | None]:
        a, b, own = (times(done, end.label) for end in (*self.ends, arm))
        if len(own) < LOOKS[0]:
            return "", None
        share = share_of((a, b), (a, own))
        return "B" if share.low > 0.5 else "A" if share.high < 0.5 else "", share


class ByCount:
    """Compiles the program and compares a count."""

    def __init__(self, a: Arm, b: Arm, counts: Callable[[Arm], dict[str, int]], by: str) -> None:
        """Raises WorkRefused if the ends do not differ, CaptureFailed, SpecError."""
        self.by = by
        self.counts = counts
        self.ends = [counts(arm)[by] for arm in (a, b)]
        if self.ends[0] == self.ends[1]:
            raise WorkRefused(f"There is nothing to search for: both have {self.ends[0]} {by}.")

    def is_over(self) -> bool:
        return False

    def __call__(self, arm: Arm, name: str) -> Try:
        count = self.counts(arm)[self.by]
        a, b = (abs(count - end) for end in self.ends)
        return Try(name, "A" if a < b else "B" if b < a else "", count=count)


def search_versions(arm: Arm, versions: Sequence[Version], judge: Judge, keep: Keep) -> Search:
    """Finds the first version that is like the last one, as far as the time allows. Skips versions
    that do not run or give no clear answer."""
    search = Search(versions[0].kind, judge.by, len(versions))
    low, high, skipped = 0, len(versions) - 1, set[int]()
    while (left := {*range(low + 1, high)} - skipped) and not judge.is_over():
        middle = min(left, key=lambda at: abs(2 * at - low - high))
        version = versions[middle]
        try:
            tried = judge(version.of(arm), version.value)
        except (CaptureFailed, SpecError) as failed:
            tried = Try(f"{version.value}: {failed}", "")
        search.tries.append(tried)
        keep(search)
        if tried.like == "A":
            low = middle
        elif tried.like == "B":
            high = middle
        else:
            skipped.add(middle)
    return replace(
        search, found=[versions[high].value], after=versions[low].value,
        complete=high - low == 1,
    )  # fmt: skip


def search_settings(a: Arm, settings: Sequence[Setting], judge: Judge, keep: Keep) -> Search:
    """Finds few settings of B that together make A like B: first the setting that tips it when they
    are changed one after another, then the earlier ones that this one needs."""
    search = Search("setting", judge.by, len(settings))
    needed: list[Setting] = []
    rest = [*settings]
    try:
        while rest:
            low, high = 0, len(rest)
            while high - low > 1:
                middle = (low + high) // 2
                if _like_b(a, [*needed, *rest[:middle]], judge, search, keep):
                    high = middle
                else:
                    low = middle
            needed.append(rest[high - 1])
            rest = rest[: high - 1]
            if _like_b(a, needed, judge, search, keep):
                return replace(search, found=[setting.name for setting in needed], complete=True)
    except (CaptureFailed, SpecError) as failed:
        return replace(search, why_not=str(failed))
    return replace(search, why_not="All settings of B together do not make A like B.")


def _like_b(a: Arm, settings: Sequence[Setting], judge: Judge, search: Search, keep: Keep) -> bool:
    """Returns whether the program is like B. Raises CaptureFailed also if that is unclear."""
    name = ", ".join(setting.name for setting in settings)
    arm = a
    for setting in settings:
        arm = setting.given(arm)
    tried = judge(replace(arm, label=f"Try {len(search.tries) + 1}"), name)
    search.tries.append(tried)
    keep(search)
    if not tried.like:
        raise CaptureFailed(f"Nobody can tell whether A with {name} is like A or like B.")
    return tried.like == "B"
