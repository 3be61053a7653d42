"""Finds where a series of measurements changes its level."""

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

LEVEL = 3
"""Fewest measurements of a level: fewer are outliers."""
FEWEST = 9
"""Fewest measurements among which a change can be distinguished from noise."""
PENALTY = 6.0
"""How much a further level must explain, in variances of the noise, as a multiple of the logarithm
of the length. At most 4 % of series of pure noise are split, from 50 measurements on at most 1
%."""
OUTLIER = 3.0
"""A measurement is cut to this many standard deviations from its neighbours."""


def change_points(values: Sequence[float]) -> list[int]:
    """Returns the position of the first value of each new level: the best partition by PELT's
    recursion (Killick, Fearnhead and Eckley, Optimal Detection of Changepoints With a Linear
    Computational Cost, 2012).
    """
    n = len(values)
    if n < FEWEST:
        return []
    series = np.asarray(values, float)
    # Differences of neighbours have the noise of two measurements, and few contain a change.
    steps = np.abs(np.diff(series))
    noise = max(1.4826 * np.median(steps) / 2**0.5, 1e-9 * np.abs(series).max(), 1e-300)
    near = np.median(sliding_window_view(np.pad(series, 2, "reflect"), 5), axis=1)
    cut = np.clip(series, near - OUTLIER * noise, near + OUTLIER * noise)
    sums = np.concatenate(([0.0], np.cumsum((cut - cut.mean()) / noise)))
    best = np.full(n + 1, -np.inf)
    best[0] = 0.0
    last = np.zeros(n + 1, int)
    starts = np.arange(n + 1)
    for end in range(LEVEL, n + 1):
        low = starts[: end - LEVEL + 1]
        explained = best[low] + (sums[end] - sums[low]) ** 2 / (end - low)
        last[end] = explained.argmax()
        best[end] = explained[last[end]] - PENALTY * np.log(n)
    found = []
    while n := int(last[n]):
        found.append(n)
    return found[::-1]
