"""Tries one change to a program: first what it does to the code, then to the time. Torch-free."""

import contextlib
import math
import statistics
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from inductorscope.analyze.measure.judge import LOOKS, Judged
from inductorscope.analyze.trial.numerics import compared
from inductorscope.analyze.trial.result import Structure, Trial
from inductorscope.capturing.measure.processes import Arm, Looked, Once, Runner
from inductorscope.capturing.measure.turns import Budget, compare_arms, turns
from inductorscope.capturing.spec import SpecError
from inductorscope.capturing.watch import CaptureFailed
from inductorscope.formats.change import Change
from inductorscope.progress import Progress

SECONDS = 1.0
"""How long a process times steps."""
AS_IT_IS = "the program as it is"
SAME_CODE = "The generated code is the same, so it was not timed."
OTHER_DATA = "Workers load other values, as random augmentations do."
TOO_LONG = "It was still compiling when half of the time left was over."
NO_GRAPHS = "No CUDA graph was recorded, and the generated code is the same."


class Trier:
    """Tries changes to one program, of which it looks at the program as it is only once."""

    def __init__(
        self, arm: Arm, runner: Runner, progress: Progress,
        read: Callable[[str, Path], str] | None = None,
    ) -> None:  # fmt: skip
        """`read`: stores a program's capture as a run, by the title of its change."""
        self.arm = replace(arm, label=AS_IT_IS)
        self.runner = runner
        self.progress = progress
        self.base_s = 0.0
        """What compiling the program as it is took, with eager."""
        self.process_s = 0.0
        """What a process takes that is only timed; 0 as long as none was."""
        self._read = read
        self._base: Looked | None = None

    @property
    def base(self) -> Looked:
        """The program as it is, compiled and in eager. Raises CaptureFailed, SpecError."""
        if self._base is None:
            self.progress("Compiling the program as it is", 0, None, None)
            began = time.monotonic()
            self._base = self._look(self.arm, eager=True)
            self.base_s = time.monotonic() - began
        return self._base

    def _look(
        self, arm: Arm, *, eager: bool = False, cold: bool = False, longest: float = math.inf
    ) -> Looked:
        def store(found: Structure, out: Path) -> str:
            same = self._base is not None and self._base.structure.codes == found.codes
            return "" if same or self._read is None else self._read(arm.label, out)

        return self.runner.look(arm, store, eager=eager, cold=cold, longest=longest)

    def changed(self, title: str, change: Change) -> Arm:
        spec = self.arm.spec
        both = change if spec.change is None else spec.change.beside(change)
        return replace(self.arm, label=title, spec=replace(spec, change=both))

    def look(self, title: str, change: Change, longest: float = math.inf) -> Trial:
        """Compiles the program with a change and compares code and results; the answer is
        `running` if it is worth timing. `longest`: seconds for it; it has those that the program as
        it is took in any case. Raises CaptureFailed, SpecError if the program as it is does not
        run."""
        base, began = self.base, time.monotonic()
        longest = max(longest, self.base_s)
        trial = Trial(title=title, change=change, before=base.structure)
        self.progress(f"Compiling with {title}", 0, None, None)
        try:
            found = self._look(self.changed(title, change), longest=longest)
        except (CaptureFailed, SpecError) as failed:
            trial.seconds = time.monotonic() - began
            late = trial.seconds >= longest
            trial.answer = "cannot tell" if late else "failed"
            trial.why = TOO_LONG if late else str(failed)
            return trial
        trial.after = replace(found.structure, compile_s=None)  # it found kernels in the cache
        trial.run_before, trial.run_after = base.run, found.run
        trial.numerics = compared(
            base.results, found.results, base.eager, change.float32_products or ""
        )
        trial.seconds = time.monotonic() - began
        if change == Change(workers=change.workers) and trial.numerics.answer == "outside":
            trial.numerics = replace(trial.numerics, answer="unknown", why=OTHER_DATA)
        same = found.structure.codes == base.structure.codes
        if same and not _may_differ(change, base.structure, found.structure):
            graphs = change.acts_without_code and not found.structure.cuda_graphs
            trial.answer, trial.why = "no effect", NO_GRAPHS if graphs else SAME_CODE
        elif trial.numerics.answer == "outside":
            trial.answer = "refused"
            trial.why = "The results leave their bounds."
        return trial

    def time_process(self) -> None:
        """Finds how long a timed process takes, which does not compile anew. Raises CaptureFailed,
        SpecError."""
        self.progress("Timing one process", 0, None, None)
        self.process_s = self.runner.once(self.arm, SECONDS, only_timed=True).seconds

    def compile_again(self, trial: Trial, longest: float = math.inf) -> None:
        """Finds how long the changed program compiles from a cold cache, as the program as it is
        did, if that takes no longer than so many seconds."""
        self.progress(f"Compiling with {trial.title}, from a cold cache", 0, None, None)
        with contextlib.suppress(CaptureFailed):  # it ran before, so only its cost is not known
            arm = self.changed(trial.title, trial.change)
            found = self._look(arm, cold=True, longest=max(longest, self.base_s))
            trial.after, trial.run_after = found.structure, found.run

    def time(
        self, trials: Sequence[Trial], budget: Budget, keep: Callable[[Trial], None],
        enough: Callable[[Judged], bool] | None = None,
    ) -> None:  # fmt: skip
        """Times changes in turns with the program as it is, and sets their answers. `enough`: what
        also ends it, besides an answer."""
        arms = [self.arm, *(self.changed(trial.title, trial.change) for trial in trials)]
        began = time.monotonic()

        def kept(done: list[Once]) -> None:
            for trial in trials:
                trial.judged = compare_arms(done, AS_IT_IS, trial.title)
                keep(trial)

        def answered(done: Sequence[Once]) -> bool:
            return all(
                found and (found.answer != "cannot tell" or (enough is not None and enough(found)))
                for found in (trial.judged for trial in trials)
            )

        once = partial(self.runner.once, seconds=SECONDS, only_timed=True)
        done = turns(arms, once, budget, self.progress, kept, answered)
        self.process_s = statistics.median(run.seconds for run in done)
        for trial in trials:
            own = [once for once in done if once.arm in (AS_IT_IS, trial.title)]
            reasons = Counter(why for once in own for why in once.disturbed)
            trial.disturbed = [why for why, _ in reasons.most_common(3)]
            trial.judged = compare_arms(done, AS_IT_IS, trial.title)
            trial.answer = trial.judged.answer if trial.judged else "cannot tell"
            trial.seconds += (time.monotonic() - began) / len(trials)


def _may_differ(change: Change, before: Structure, after: Structure) -> bool:
    """Whether a change may act although the code stays the same. CUDA graphs of a program that has
    only one graph, which is replayed, do not."""
    only_graphs = replace(
        change, inductor={}, mode=None if change.mode == "reduce-overhead" else change.mode
    )
    recorded = after.cuda_graphs and not (before.cuda_graphs and before.graphs == 1)
    return only_graphs.acts_without_code or (change.acts_without_code and recorded)


def try_change(
    trier: Trier, title: str, change: Change, seconds: float, keep: Callable[[Trial], None]
) -> Trial:
    """Tries one change. Raises CaptureFailed, SpecError if the program as it is does not run."""
    trial = trier.look(title, change)
    keep(trial)
    if trial.answer == "running":
        trier.time([trial], Budget(seconds, LOOKS[-1]), keep)
        trier.compile_again(trial)
        keep(trial)
    return trial
