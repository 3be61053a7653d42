"""The results of a trial and of a search, and what they say."""

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


class Improvement(msgspec.Struct, kw_only=True):
    """A search, and what it found so far."""

    trials: list[Trial] = []
    kept: list[str] = []
    """Titles of the changes of the best program; empty if none is faster."""
    writes: list[str] = []
    """How to write them."""
    change: Change | None = None
    """All of them together."""
    judged: Judged | None = None
    """The best program beside the program as it is, in processes that chose nothing."""
    numerics: Numerics | None = None
    before: Structure | None = None
    after: Structure | None = None
    patch: str = ""
    """The change to the program's file, where it can be written as one."""
    complete: bool = False
    stopped: Prose = ""
    """Why the search ended early, as a sentence."""
    seconds: float = 0.0

    @property
    def gain(self) -> float:
        """How many times as fast the program becomes; 1.0 unless that is certain."""
        sure = self.judged is not None and self.judged.answer == "faster"
        return 1 / (1 + self.judged.shift) if sure and self.judged else 1.0

    @property
    def payback_steps(self) -> int | None:
        """After how many steps the longer compile has paid back; None if it takes no longer."""
        if not (self.judged and self.before and self.after) or self.gain == 1.0:
            return None
        more = (self.after.compile_s or 0.0) - (self.before.compile_s or 0.0)
        saved_s = (self.judged.a_ms - self.judged.b_ms) / 1000
        return max(round(more / saved_s), 0) if more > 0 and saved_s > 0 else None
