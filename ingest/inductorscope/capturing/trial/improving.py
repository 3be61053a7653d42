"""Searches for changes that make a program faster. Torch-free.

Each candidate is first compiled, which shows whether it does anything. The rest is timed in rounds,
of which the better half goes on. Changes that are faster alone are then joined while that helps.
The winner is measured again from the start, since the times that chose it flatter it. With little
time, few candidates take part; if none of them seems to win, the next ones get the time left.
"""

import math
import time
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from inductorscope.analyze.measure.judge import LOOKS, Judged
from inductorscope.analyze.trial.result import Improvement, Trial
from inductorscope.capturing.measure.turns import Budget
from inductorscope.capturing.trial.trying import Trier
from inductorscope.formats.change import Change

ROUNDS = (2, 4)
"""Processes of each change in the rounds that choose."""
FEWEST = 4
"""So many changes go on in any case."""
FOR_FINAL = 0.35, 0.6
"""The least and the most of the budget that is kept for measuring the winner."""
WORTH_JOINING = 0.01
"""A change that seems to win less is not joined with others, nor measured while others wait."""
LITTLE = 0.05
"""Nor one that surely wins less."""
GLANCE = 3
"""Processes of each, after which a change can seem to win nothing."""
NO_TIME = "The time was up; the next search goes on from here."
AND = " + "
Candidates = Sequence[tuple[str, Change]]
"""Titles and changes."""
Keep = Callable[[Improvement], None]


class Search:
    """A search in progress."""

    def __init__(
        self, trier: Trier, seconds: float, keep: Keep, before: Improvement | None = None
    ) -> None:
        """`before`: an earlier search of the same program, whose trials are not repeated."""
        self.trier = trier
        self.began = time.monotonic()
        self.seconds = seconds
        self._keep = keep
        self.found = Improvement()
        self._before = before
        self._looked_s = 0.0
        """What compiling a candidate took, at most, of those that compiled."""

    @property
    def rest(self) -> float:
        """Seconds until the time is up."""
        return self.seconds - (time.monotonic() - self.began)

    @property
    def left(self) -> float:
        """Seconds until the winner has to be measured."""
        least, most = (share * self.seconds for share in FOR_FINAL)
        wanted = 2 * LOOKS[0] * self.trier.process_s
        return self.rest - min(max(wanted, least), most)

    def run(self, candidates: Candidates) -> Improvement:
        """Searches, and returns what it found. Raises CaptureFailed, SpecError if the program as it
        is does not run."""
        found = self.found
        found.before = self.trier.base.structure
        if self._before and self._before.before:
            same = self._before.before.codes == found.before.codes
            self._before = self._before if same else None
        self.keep()
        self.trier.time_process()
        # What an earlier search has timed comes last.
        untried = sorted(
            candidates, key=lambda change: bool((old := self._looked_at(change[1])) and old.judged)
        )
        left_behind: list[Trial] = []
        while untried and found.gain == 1.0 and not self._over:
            if chosen := self._choose(self._screen(untried)):
                best = self._join(chosen)
                rivals = [trial for trial in chosen if trial is not best and trial.judged]
                self._measure(best, others=bool(untried), rival=min(map(_shift, rivals), default=0))
                left_behind += [*rivals, best]
        again = [trial for trial in left_behind[:-1] if _shift(trial) < -WORTH_JOINING]
        if again and found.gain == 1.0 and not self._over:
            self._measure(min(again, key=_shift), others=False)
        found.stopped = self._stopped() if untried or self.rest <= 0 else ""
        found.complete = not untried
        self.keep()
        return found

    def keep(self) -> None:
        self.found.seconds = time.monotonic() - self.began
        self._keep(self.found)

    @property
    def _over(self) -> bool:
        """Whether there is no time to try another change; one is tried in any case."""
        glance = self._looked_s + 2 * GLANCE * self.trier.process_s
        return bool(self.found.trials) and self.rest < glance

    def _stopped(self) -> str:
        """Says that the time was up, and what one change needs if it had time for few."""
        one = self._looked_s + 2 * LOOKS[0] * self.trier.process_s
        enough = self.seconds > 3 * one
        return NO_TIME if enough else f"{NO_TIME} One change takes some {math.ceil(one / 60)} min."

    def _screen(self, untried: list[tuple[str, Change]]) -> list[Trial]:
        """Compiles candidates for which there is time, and returns those worth timing. Two with the
        same code are timed once."""
        worth: list[Trial] = []
        while untried and not self._over:
            if worth and self.left < self._looked_s + self._round_s(len(worth) + 1):
                break
            title, change = untried.pop(0)
            trial = self._looked_at(change) or self.trier.look(title, change, self.left / 2)
            if trial.after is not None:
                self._looked_s = max(self._looked_s, trial.seconds)
            self.found.trials.append(trial)
            twin = next((other for other in worth if _is_twin(trial, other)), None)
            if trial.answer == "running" and twin is not None:
                trial.answer, trial.why = "no effect", f"The code is that of {twin.title}."
            elif trial.answer == "running":
                worth.append(trial)
            self.keep()
        return worth

    def _round_s(self, changes: int) -> float:
        """Returns how long the first round takes."""
        return ROUNDS[0] * self.trier.process_s * (changes + 1)

    def _looked_at(self, change: Change) -> Trial | None:
        """Returns the earlier search's trial of a change; if it was worth timing, to be timed."""
        for trial in self._before.trials if self._before else ():
            if trial.change == change and trial.after is not None:
                timed = trial.answer not in ("no effect", "refused")
                return replace(trial, answer="running", why="") if timed else trial
        return None

    def _choose(self, trials: list[Trial]) -> list[Trial]:
        """Times changes in rounds; returns those of the last one, the fastest first. With little
        time, only the first are timed, which the run's causes name if they name any."""
        while len(trials) > 1 and self.left < self._round_s(len(trials)):
            *trials, late = trials
            late.answer, late.why = "cannot tell", NO_TIME
        if len(trials) <= 1:  # there is nothing to choose from
            return trials
        for processes in ROUNDS if len(trials) > FEWEST else ROUNDS[1:]:
            budget = Budget(max(self.left, 0.0), processes, looks=())
            self.trier.time(trials, budget, lambda _: self.keep())
            trials = sorted(trials, key=_shift)[: max(len(trials) // 2, FEWEST)]
            self.keep()
        # Of one process each, nothing is known.
        return [trial for trial in trials if trial.judged is None or _shift(trial) < -WORTH_JOINING]

    def _join(self, trials: list[Trial]) -> Trial:
        """Returns the fastest change, joined with others while that seems faster."""
        best = trials[0]
        for other in trials[1:]:
            enough = self.left > self._looked_s + 3 * ROUNDS[-1] * self.trier.process_s
            if not enough or not best.change.agrees_with(other.change):
                continue
            title, both = f"{best.title}{AND}{other.title}", best.change.beside(other.change)
            joined = self.trier.look(title, both, self.left)
            self.found.trials.append(joined)
            if joined.answer != "running" or _is_twin(joined, best):
                joined.answer = "no effect" if joined.answer == "running" else joined.answer
                continue
            budget = Budget(self.left, ROUNDS[-1], looks=())
            self.trier.time([best, joined], budget, lambda _: self.keep())
            if _shift(joined) < _shift(best) - WORTH_JOINING:
                best = joined
        return best

    def _measure(self, best: Trial, *, others: bool, rival: float = 0) -> None:
        """Measures the winner again, in processes that chose nothing. `others`: whether changes are
        untried, for which it ends early if this one seems to win nothing. `rival`: the shift of the
        next best, for which it ends early if this one wins less than half of that."""
        found = self.found
        found.kept = best.title.split(AND)
        final = Trial(title=best.title, change=best.change)
        budget = Budget(self.rest, LOOKS[-1], (GLANCE, *LOOKS))

        def kept(trial: Trial) -> None:
            found.judged = trial.judged
            self.keep()

        def leave(judged: Judged) -> bool:
            little = judged.shift > -WORTH_JOINING or judged.low > -LITTLE
            return judged.shift > rival / 2 or (others and little)

        self.trier.time([final], budget, kept, leave if others or rival < 0 else None)
        if final.answer == "faster" and self.rest > 0:
            self.trier.compile_again(best, self.rest)
        found.judged, best.judged, best.answer = final.judged, final.judged, final.answer
        found.numerics, found.after, found.change = best.numerics, best.after, best.change
        if final.answer != "faster":
            found.kept, found.change, found.after = [], None, None


def _shift(trial: Trial) -> float:
    return trial.judged.shift if trial.judged else 0.0


def _is_twin(trial: Trial, other: Trial) -> bool:
    """Whether both compile to the same code and act in the same way besides."""
    if trial.after is None or other.after is None or trial.after.codes != other.after.codes:
        return False
    return not (trial.change.acts_without_code or other.change.acts_without_code)
