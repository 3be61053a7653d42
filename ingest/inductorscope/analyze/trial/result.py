"""The result of a trial, and what it says."""

from typing import Literal

import msgspec

from inductorscope.analyze.measure.judge import Judged
from inductorscope.analyze.trial.numerics import Numerics
from inductorscope.fields import Prose
from inductorscope.formats.change import Change

Answer = Literal[
    "faster", "slower", "the same", "cannot tell", "no effect", "refused", "failed", "running",
]  # fmt: skip


class Structure(msgspec.Struct, frozen=True, kw_only=True):
    """What compiling produced, in figures that are the same in every process."""

    graphs: int = 0
    breaks: int = 0
    recompiles: int = 0
    operations: int = 0
    """Operations in the compiled graphs."""
    kernels: int = 0
    launches: int = 0
    """Calls of kernels and of library functions that the wrappers contain."""
    cuda_graphs: bool = False
    """Whether CUDA graphs were replayed."""
    codes: tuple[str, ...] = ()
    """Digests of the graphs' code, without comments and paths."""
    compile_s: float | None = None
    """Seconds of all compiles, from a cold cache."""
    peak_bytes: int | None = None
    """The most memory in use: on a GPU what torch gave out there, else of the process."""


COUNTS = ("graphs", "breaks", "recompiles", "operations", "kernels", "launches")


class Trial(msgspec.Struct, kw_only=True):
    """A change that was tried."""

    title: str
    change: Change
    answer: Answer = "running"
    why: Prose = ""
    """Why there is no other answer, as a sentence."""
    before: Structure | None = None
    after: Structure | None = None
    judged: Judged | None = None
    """The program with the change beside the program as it is; None if it was not timed."""
    numerics: Numerics | None = None
    disturbed: list[str] = []
    """What disturbed the processes, as sentences."""
    seconds: float = 0.0
    run_before: str = ""
    run_after: str = ""
    """The runs of both programs; empty if the code is the same."""

    @property
    def gain(self) -> float:
        """How many times as fast the program is with the change; 1.0 unless that is certain."""
        if self.answer not in ("faster", "slower") or self.judged is None:
            return 1.0
        return 1 / (1 + self.judged.shift)


def changed_counts(trial: Trial) -> list[tuple[str, int, int]]:
    """Returns name, count before and count after of what the change alters."""
    if trial.before is None or trial.after is None:
        return []
    both = [(name, getattr(trial.before, name), getattr(trial.after, name)) for name in COUNTS]
    return [counts for counts in both if counts[1] != counts[2]]
