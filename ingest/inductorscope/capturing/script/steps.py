"""Decides what to use each step of a script for. Torch-free.

After a compile, one step warms up, two are timed, a few are profiled, and further ones are timed.
Profiling comes early because the number of steps is unknown. A recompile restarts this, so that the
figures describe the code that runs in the end. If several processes run the steps together, nothing
restarts after the first step: all of them profile the same steps, and the profile shows the wait
for a rank that compiles.
"""

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

COMPILES, WARM_UP, TIMED, PROFILED, NOT_TIMED = (
    "compiles", "warm-up", "timed", "profiled", "not timed",
)  # fmt: skip
TIMED_FIRST = 2
FEWEST, MOST = 5, 300
FIXED = 20
"""Steps to time when several processes must agree on how many."""
MOST_RESTARTS = 5
LONG_STEP_S = 5.0
"""Only one step is profiled if a step takes longer."""
PROFILED_STEPS = 3
SLOWED = 2
"""Timed steps that take this many times as long as profiled ones were disturbed."""
MOST_STEPS = 10_000
"""Steps after which measuring ends, even if it is incomplete."""

Mark = TypeVar("Mark")


class Profiler(Protocol):
    """Profiles some steps."""

    def start(self, steps: int) -> bool: ...
    def step(self) -> None: ...
    def stop(self, *, keep: bool) -> None: ...
    def disturbed(self) -> bool:
        """Whether other processes disturbed it since it started."""
        ...


@dataclass(frozen=True)
class Plan:
    """How much to measure."""

    seconds: float
    """Time for timed steps."""
    profile: bool = True
    several: bool = False
    """Whether several processes run the steps together. Then the plan must not depend on their
    clocks."""
    after: int = 0
    """Steps to let the script run after everything is measured."""
    first: int = 0
    """The first step that may be timed."""


@dataclass
class Steps(Generic[Mark]):
    """The steps so far. `end` and `begin` are called at each boundary, in this order."""

    plan: Plan
    profiler: Profiler
    finished: Callable[[], None]
    """Called once, when everything is measured."""

    step: int = 0
    """The current step; 0 before the first."""
    kind: str = WARM_UP
    compiling: bool = False
    """Set when something compiles in the current step."""
    kinds: list[tuple[str, int, int]] = field(default_factory=list)
    marks: dict[int, tuple[Mark | None, Mark]] = field(default_factory=dict)
    """Where steps begin and end, on the device's clock."""
    timed: list[int] = field(default_factory=list)
    before: list[int] = field(default_factory=list)
    """Steps timed before a recompile."""
    profiled: bool = False
    done: bool = False

    _begin: Mark | None = None
    _began_s: float = 0.0
    _passed: int = 0
    """Steps for timing since the last start, including those in which something compiled."""
    _spent_s: float = 0.0
    _longest_s: float = 0.0
    _left: int = 0
    _restarts: int = 0
    _again: bool = False
    """Whether the profile is repeated, because it was disturbed."""

    def begin(self, mark: Mark | None, now_s: float) -> None:
        self.step += 1
        self._begin, self._began_s = mark, now_s

    def end(self, mark: Mark, now_s: float) -> None:
        """Ends the current step, and decides what to use the next one for."""
        compiled, self.compiling = self.compiling, False
        self._note(COMPILES if compiled else self.kind)
        if self.done:
            return
        self.marks[self.step] = (self._begin, mark)
        if compiled and self._restarts < MOST_RESTARTS and not self._is_fixed():
            self._restart()
        elif self.kind == WARM_UP and self.step + 1 >= self.plan.first:
            self.kind = TIMED
        elif self.kind == PROFILED:
            self._profile_on()
        elif self.kind == TIMED and (not compiled or self._is_fixed()):
            if not compiled:
                self.timed.append(self.step)
            self._passed += 1
            self._spent_s += now_s - self._began_s
            self._longest_s = max(self._longest_s, now_s - self._began_s)
            self._after_timed()
        elif self.kind == NOT_TIMED:
            self._left -= 1
        if (self.kind == NOT_TIMED and self._left <= 0) or self.step >= MOST_STEPS:
            self.done = True
            self.finished()

    def samples(self) -> list[int]:
        """Returns the timed steps: those since the last recompile, if there are enough."""
        return self.timed if len(self.timed) >= TIMED_FIRST else self.before or self.timed

    def profiled_ones(self, times: Mapping[int, float | None]) -> list[float]:
        """Returns the known times of profiled steps."""
        spans = [range(first, last + 1) for kind, first, last in self.kinds if kind == PROFILED]
        return [ms for span in spans for step in span if (ms := times.get(step))]

    def _is_fixed(self) -> bool:
        """Whether the steps' uses depend only on their numbers."""
        return self.plan.several and self.step > 1

    def _note(self, kind: str) -> None:
        if self.kinds and self.kinds[-1][0] == kind:
            self.kinds[-1] = (kind, self.kinds[-1][1], self.step)
        else:
            self.kinds.append((kind, self.step, self.step))

    def _restart(self) -> None:
        self._restarts += 1
        if self.kind == PROFILED:
            self.profiler.stop(keep=False)
        if len(self.timed) >= TIMED_FIRST:
            self.before = self.timed
        self.timed, self._passed, self._spent_s, self.profiled = [], 0, 0.0, False
        self.kind = WARM_UP

    def _after_timed(self) -> None:
        if self.plan.profile and not self.profiled:
            if self._passed >= TIMED_FIRST:
                slow = self._longest_s > LONG_STEP_S
                steps = 1 if slow and not self.plan.several else PROFILED_STEPS
                if self.profiler.start(steps):
                    self.kind, self._left = PROFILED, 1 + steps  # the first warms up the profiler
        elif self._enough():
            self.kind, self._left = NOT_TIMED, self.plan.after

    def _enough(self) -> bool:
        if self.plan.several:
            return self._passed >= FIXED
        count = len(self.timed)
        return count >= MOST or (
            self._spent_s >= self.plan.seconds
            and (count >= FEWEST or self._longest_s >= self.plan.seconds)
        )

    def _profile_on(self) -> None:
        self._left -= 1
        self.profiler.step()
        if self._left == 0:
            # One of several processes cannot decide this alone. The script may end before the
            # second profile, so the first is kept until then.
            self._again = not (self._again or self.plan.several) and self.profiler.disturbed()
            self.profiler.stop(keep=True)
            self.profiled, self.kind = not self._again, WARM_UP


def slowed(timed: list[float], profiled: list[float]) -> list[str]:
    """Returns a sentence if timed steps took longer than profiled ones, to which the profiler only
    adds. Times are in milliseconds."""
    if not profiled or statistics.median(timed) < SLOWED * statistics.median(profiled):
        return []
    return [
        f"A timed step took {statistics.median(timed):,.1f} ms, and a profiled one only "
        f"{statistics.median(profiled):,.1f} ms: something slowed the timed ones down, or later "
        "steps take longer."
    ]
