"""Whether work grows in step with its text, by the processor's time for growing texts."""

import re
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType

_NUMBER = re.compile(r"(\d{1,9})")
LIMIT, LIMIT_EACH = 2.0, 20e-6
"""Seconds of processor time, and more for each character, after which work has exploded."""


class ExplodedError(BaseException):
    """Work took too long. Not an `Exception`, so that no reader swallows it."""


@dataclass(frozen=True)
class Pump:
    """A text of any size: something repeated between a start and an end."""

    start: str
    repeated: str
    end: str = ""
    counts: bool = False
    """Whether each repetition has other numbers, so that it defines and uses names of its own."""

    def text(self, size: int) -> str:
        count = max(1, size // len(self.repeated))
        if not self.counts:
            return self.start + self.repeated * count + self.end
        parts = _NUMBER.split(self.repeated)
        pieces = (_with_numbers(parts, turn) for turn in range(count))
        return self.start + "".join(pieces) + self.end

    def __str__(self) -> str:
        return f"…{self.start[-80:]!r} + n * {self.repeated!r} + {self.end[:40]!r}…"


def _with_numbers(parts: list[str], turn: int) -> str:
    """Text and numbers in turns, each number that much larger."""
    return "".join(str(int(part) + turn) if at % 2 else part for at, part in enumerate(parts))


def seconds(work: Callable[[str], object], text: str, tries: int = 1) -> float:
    """Processor time that work takes, the least of some tries; infinite once it has exploded.

    A regular expression looks for signals while it matches, so it can be interrupted too.
    """

    def explode(number: int, frame: FrameType | None) -> None:
        raise ExplodedError

    least = float("inf")
    before = signal.signal(signal.SIGVTALRM, explode)
    try:
        for _ in range(tries):
            start = time.thread_time()
            signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT + LIMIT_EACH * len(text))
            work(text)
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            least = min(least, time.thread_time() - start)
    except ExplodedError:
        pass
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return least


def growth(
    work: Callable[[str], object],
    pump: Pump,
    small: int,
    large: int,
    cheap: float,
    *,
    even: float = 0.0,
) -> float:
    """How the cost of a character grows from a small to a large text: about 1 if work is linear.

    Work that takes less than `cheap` seconds for the small text is not measured further, nor that
    whose character costs less than `even` times what it costs in a text an eighth as long. A
    suspicion is measured again, since other processes disturb the clock.
    """
    for part in (8, 4):
        if seconds(work, pump.text(small // part)) * part**2 < cheap:  # also if its work is squared
            return 1.0
    ratio = 1.0
    for tries in (1, 2, 3):
        first = seconds(work, pump.text(small), tries)
        if first < max(cheap, even * 8 * seconds(work, pump.text(small // 8), 3) if even else 0.0):
            return 1.0
        if first == float("inf"):
            return first
        ratio = seconds(work, pump.text(large), tries) / first * small / large
        if ratio < STEEP:
            break
    return ratio


STEEP = 2.3
"""Growth that is no longer linear: four times the text makes a character of squared work four times
as dear, and one of linear work no dearer, except for caches and the clock's grain."""
