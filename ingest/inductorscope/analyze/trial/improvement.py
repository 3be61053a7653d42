"""The result of a search for changes that make a program faster."""

import msgspec

from inductorscope.analyze.measure.judge import Judged
from inductorscope.analyze.trial.numerics import Numerics
from inductorscope.analyze.trial.result import Structure, Trial
from inductorscope.fields import Prose
from inductorscope.formats.change import Change


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
