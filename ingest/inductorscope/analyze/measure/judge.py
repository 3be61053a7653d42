"""Judges whether B is slower than A, from one time of each fresh process.

The process is the unit: calls within a process share its memory layout, its neighbours and its
clocks, so they say little about the next process. Brunner and Munzel's test does not assume that
both sides scatter alike. It is used as a permutation test (Neubert and Brunner, A studentized
permutation test for the non-parametric Behrens-Fisher problem, 2007), since its approximation
rejects far too often with fewer than ten values. A difference is the median of all pairwise
differences of logarithms (Hodges and Lehmann), so comparing B with A gives exactly the reverse of
comparing A with B.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from inductorscope.fields import Number, Percent

Numbers = npt.NDArray[np.float64]
Answer = Literal["slower", "faster", "the same", "cannot tell"]

LOOKS = (6, 10, 20, 40)
"""Numbers of processes of each side after which to check for an answer. With fewer than six, the
required significance cannot be reached."""
FALSE_ALARMS = 0.01
"""Probability of "slower" or "faster" for equal programs, over all checks; also the rate of false
alarms among kernels."""
AT_EACH_LOOK = FALSE_ALARMS / len(LOOKS)
COVERED = 0.95
FLOOR = 0.01
"""A smaller difference does not matter, however certain it is."""
FLOOR_MS = 0.001
"""Nor does one of less than a microsecond per step."""
MARGIN = 0.02
"""Programs whose difference is certainly smaller are the same."""
POWER = 0.9
MOST_MORE = 10_000
PERMUTATIONS = 9999
RESAMPLES = 2000


class Judged(msgspec.Struct, frozen=True):
    """An answer and its evidence. Differences are shares of A's time."""

    answer: Answer
    shift: Percent
    """0.03: B takes 3 % longer."""
    low: Percent
    high: Percent
    """Ends of the interval of the shift."""
    p: Number
    """Probability of a statistic at least as extreme if the programs are equal."""
    a_ms: float
    b_ms: float
    """Medians of the processes."""
    processes: int
    """Number of processes of each side."""
    more: int | None = None
    """About how many more processes of each side would give an answer; None if there is one, or it
    would take too many."""


def judge(a: Sequence[float], b: Sequence[float]) -> Judged:
    """Judges one pair of programs. `a`, `b`: a time of each process in ms, none 0. Needs at least
    two of each side."""
    return _judged(a, b, _p(a, b), AT_EACH_LOOK)


def judge_all(times: Mapping[str, tuple[Sequence[float], Sequence[float]]]) -> dict[str, Judged]:
    """Judges many pairs at once, such as kernels, with Benjamini and Hochberg's correction."""
    from scipy.stats import false_discovery_control

    if not times:
        return {}
    values = [_p(a, b) for a, b in times.values()]
    corrected = false_discovery_control(values)
    return {
        name: _judged(a, b, float(p), FALSE_ALARMS)
        for (name, (a, b)), p in zip(times.items(), corrected, strict=True)
    }


def interval(
    statistic: Callable[..., Numbers], *samples: Numbers, paired: bool = False
) -> tuple[float, float]:
    """Returns the bootstrap interval of a statistic of independent samples; the statistic takes
    arrays and `axis`."""
    from scipy.stats import bootstrap

    found = bootstrap(
        samples, statistic, n_resamples=RESAMPLES, confidence_level=COVERED, method="percentile",
        vectorized=True, paired=paired, rng=np.random.default_rng(0),
    ).confidence_interval  # fmt: skip
    return float(found.low), float(found.high)


def shift_of(a: Sequence[float], b: Sequence[float]) -> tuple[float, float, float]:
    """Returns how much longer B takes, as a share of A, and the interval."""
    logs = np.log(np.asarray(a)), np.log(np.asarray(b))
    middle, ends = float(_difference(*logs)), interval(_difference, *logs)
    low, high = (middle + _wider(len(a), len(b)) * (end - middle) for end in ends)
    return math.expm1(middle), math.expm1(low), math.expm1(high)


def _wider(a: int, b: int) -> float:
    """Returns by what to widen a bootstrap interval, which few values make too narrow: 6 of each
    cover 90 % instead of 95 %."""
    from scipy.stats import norm, t

    fewer = min(a, b)
    return math.sqrt(fewer / (fewer - 1)) * float(t.ppf(0.975, a + b - 2) / norm.ppf(0.975))


def _judged(a: Sequence[float], b: Sequence[float], p: float, alarms: float) -> Judged:
    shift, low, high = shift_of(a, b)
    middles = float(np.median(a)), float(np.median(b))
    large = abs(math.log1p(shift)) >= FLOOR and abs(middles[1] - middles[0]) >= FLOOR_MS
    answer: Answer = "cannot tell"
    if p <= alarms and large and not low <= 0 <= high:
        answer = "slower" if shift > 0 else "faster"
    elif len(a) >= LOOKS[0] and low >= -MARGIN and high <= MARGIN:
        answer = "the same"
    more = _more(a, b, math.log1p(shift), alarms) if answer == "cannot tell" else None
    return Judged(answer, shift, low, high, p, *middles, processes=len(a), more=more)


def _difference(a: Numbers, b: Numbers, axis: int = -1) -> Numbers:
    """Returns the difference of logarithms, B less A."""
    pairs = b[..., :, None] - a[..., None, :]
    found: Numbers = np.median(pairs.reshape(*pairs.shape[:-2], -1), axis=axis)
    return found


def _p(a: Sequence[float], b: Sequence[float]) -> float:
    from scipy.stats import permutation_test

    found = permutation_test(
        (np.asarray(a), np.asarray(b)), statistic, vectorized=True, n_resamples=PERMUTATIONS,
        batch=PERMUTATIONS, rng=np.random.default_rng(0),
    )  # fmt: skip
    return float(found.pvalue)


def statistic(a: Numbers, b: Numbers, axis: int = -1) -> Numbers:
    """Computes Brunner and Munzel's statistic, like `scipy.stats.brunnermunzel`, of many samples at
    once."""
    from scipy.stats import rankdata

    n, m = a.shape[-1], b.shape[-1]
    ranks = rankdata(np.concatenate([a, b], axis=-1), axis=-1)
    apart = ranks[..., n:].mean(axis=-1) - ranks[..., :n].mean(axis=-1)
    spread = n * (ranks[..., :n] - rankdata(a, axis=-1)).var(axis=-1, ddof=1)
    spread = spread + m * (ranks[..., n:] - rankdata(b, axis=-1)).var(axis=-1, ddof=1)
    # Samples that do not overlap have no spread; they are the most extreme.
    found: Numbers = n * m * apart / ((n + m) * np.sqrt(np.maximum(spread, 1e-9)))
    return found


def _more(a: Sequence[float], b: Sequence[float], shift: float, alarms: float) -> int | None:
    """Estimates from the spread so far, assuming normality, how many more make the shift certain,
    or show that it is within the margin."""
    from scipy.stats import norm

    spread = float(np.var(np.log(a), ddof=1) + np.var(np.log(b), ddof=1))
    ways = []
    if abs(shift) >= FLOOR:
        ways.append((norm.isf(alarms / 2) + norm.isf(1 - POWER)) / abs(shift))
    if abs(shift) < MARGIN:
        ways.append((norm.isf((1 - COVERED) / 2) + norm.isf(1 - POWER)) / (MARGIN - abs(shift)))
    wanted = math.ceil(spread * min(ways) ** 2)
    more = max(max(wanted, LOOKS[0]) - len(a), 1)
    return more if more <= MOST_MORE else None
