"""The time of each call in a wrapper, from the order in which a graph's calls launched their work.

The launches of a kernel come in the order of its calls: if there are as many of them, the first
belongs to the first call, and so on. These pairs enclose the launches whose kernel is not known,
such as a library's in a recorded graph: launches between two of them belong to the calls between
them.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise

import msgspec
import numpy as np

from inductorscope.analyze.time.costs import MEASURED, SHARED
from inductorscope.analyze.time.order import LaunchOrder
from inductorscope.formats.trace.event_columns import Floats

NEGLIGIBLE = 1e-9
"""A smaller share of a time is due to rounding."""


class CallTime(msgspec.Struct, frozen=True):
    """The time of one call in the wrapper."""

    time_us: float
    """Mean time in a step; the times of a kernel's calls sum to the kernel's time."""
    known: str
    runs: int = 0
    """Measured runs of this call; 0 if its time is shared."""
    median_us: float | None = None
    p10_us: float | None = None
    p90_us: float | None = None
    instances: list[float] | None = None
    """Its mean time in a step in each place at which a run makes it, in order, if its subgraph is
    called several times; they sum to `time_us`."""


class Match(msgspec.Struct):
    """Which items of an order belong to which calls of the wrapper, by position."""

    of_call: dict[int, list[int]] = msgspec.field(default_factory=dict)
    shared: list[tuple[list[int], list[int]]] = msgspec.field(default_factory=list)
    """Groups of calls with the items that belong to all of them together."""


LIBRARY = -2
"""Stands for the kernel of an item that is not known, but is a library's: an operator ran it."""


def match_calls(
    wrapper: Sequence[int], items: Sequence[int | None], library: Collection[int] = ()
) -> Match:
    """Matches calls with items. `wrapper`: the kernel of each call, in order; `items`: the kernel
    of each item, if known; `library`: the kernels that libraries have."""
    match = Match()
    _match_equal(wrapper, items, range(len(wrapper)), range(len(items)), match)
    pairs = sorted((call, taken[0]) for call, taken in match.of_call.items())
    if any(item > later for (_, item), (_, later) in pairwise(pairs)):
        return match  # kernels ran out of order, so nothing is between them
    edges = [(-1, -1), *pairs, (len(wrapper), len(items))]
    for (call, item), (next_call, next_item) in pairwise(edges):
        calls, between = range(call + 1, next_call), range(item + 1, next_item)
        if calls and between:
            _match_gap(wrapper, items, calls, between, match, library)
    return match


def _match_equal(
    wrapper: Sequence[int], items: Sequence[int | None], calls: range, between: range, match: Match
) -> None:
    """Pairs the calls and items of each kernel that has equally many of both."""
    calls_of: dict[int, list[int]] = defaultdict(list)
    items_of: dict[int, list[int]] = defaultdict(list)
    for call in calls:
        calls_of[wrapper[call]].append(call)
    for place in between:
        kernel = items[place]
        if kernel is not None:
            items_of[kernel].append(place)
    for kernel, own in calls_of.items():
        if len(own) == len(items_of[kernel]):
            for call, place in zip(own, items_of[kernel], strict=True):
                match.of_call[call] = [place]


def _match_gap(
    wrapper: Sequence[int],
    items: Sequence[int | None],
    calls: range,
    between: range,
    match: Match,
    library: Collection[int],
) -> None:
    _match_equal(wrapper, items, calls, between, match)
    left = [call for call in calls if call not in match.of_call]
    unknown = [place for place in between if items[place] in (None, LIBRARY)]
    if any(items[place] == LIBRARY for place in unknown):  # none of the generated kernels' items
        left = [call for call in left if wrapper[call] in library]
        unknown = [place for place in unknown if items[place] == LIBRARY]
    if not left or not unknown:
        return
    if len(left) == 1:
        match.of_call[left[0]] = unknown
    elif len(left) == len(unknown):
        match.of_call |= {call: [place] for call, place in zip(left, unknown, strict=True)}
    elif len({wrapper[call] for call in left} - set(library)) < 2:
        # Generated kernels launch one item a call: that two have other numbers is no share of them.
        match.shared.append((left, unknown))


class _Measured(msgspec.Struct):
    """The measurements of one call."""

    samples: dict[int, list[Floats]] = msgspec.field(default_factory=dict)
    """By the call's place among all that a run makes."""
    shared_us: float = 0.0

    @property
    def us(self) -> float:
        return sum(map(_sum, self.samples.values())) + self.shared_us


def _sum(samples: Sequence[Floats]) -> float:
    return float(sum(sample.sum() for sample in samples))


def call_times(
    wrapper: Sequence[tuple[int, int]],
    orders: Sequence[tuple[LaunchOrder, Sequence[int | None]]],
    totals: Mapping[int, float],
    steps: int,
    library: Collection[int] = (),
) -> dict[tuple[int, int], CallTime]:
    """Returns the times of calls.

    `wrapper`: the kernel, and number, of each call that a run makes, in order; a call of a subgraph
    is there each time that it runs. `library`: the kernels that libraries have.
    `orders`: launch orders, with the kernel of each item, if known. `totals`: the time of kernels
    in the whole profile, if known by other means. It is divided among a kernel's calls; a kernel
    whose calls took longer, or that has no total, has the sum of its calls.
    """
    measured: dict[tuple[int, int], _Measured] = defaultdict(_Measured)
    made = [kernel for kernel, _ in wrapper]
    for order, kernels in orders:
        match = match_calls(made, kernels, library)
        for at, places in match.of_call.items():
            samples = measured[wrapper[at]].samples.setdefault(at, [])
            samples.append(order.us[:, places].sum(axis=1))
        for sharing, places in match.shared:
            each = float(order.us[:, places].sum()) / len(sharing)
            for at in sharing:
                measured[wrapper[at]].shared_us += each
    calls_of: dict[int, list[tuple[int, int]]] = defaultdict(list)
    made_of = Counter(wrapper)
    for call in made_of:
        calls_of[call[0]].append(call)
    times: dict[tuple[int, int], CallTime] = {}
    for kernel, calls in calls_of.items():
        known = {call: measured[call] for call in calls if call in measured}
        rest = totals.get(kernel, 0.0) - sum(own.us for own in known.values())
        whole = max(totals.get(kernel, 0.0), NEGLIGIBLE)
        without = [call for call in calls if call not in known]
        if known and not without and rest / whole <= NEGLIGIBLE:
            rest = 0.0
        times |= _times_of(calls, known, max(0.0, rest), steps, made_of)
    return times


def _times_of(
    calls: list[tuple[int, int]],
    known: Mapping[tuple[int, int], _Measured],
    rest: float,
    steps: int,
    made: Mapping[tuple[int, int], int],
) -> dict[tuple[int, int], CallTime]:
    """Returns the times of one kernel's calls. `rest`: time of the kernel that no call explains; it
    is divided equally among the calls without a time of their own, or among all. `made`: how often
    a run makes each call."""
    without = [call for call in calls if call not in known] or calls
    each = rest / len(without)
    times: dict[tuple[int, int], CallTime] = {}
    for call in calls:
        own = known.get(call)
        us = (own.us if own is not None else 0.0) + (each if call in without else 0.0)
        if own is None or not own.samples or own.shared_us or (rest and call in without):
            if us:
                times[call] = CallTime(us / steps, SHARED)
            continue
        samples = np.concatenate([sample for place in own.samples.values() for sample in place])
        p10, median, p90 = np.percentile(samples, (10, 50, 90)).tolist()
        each_place = [_sum(own.samples[place]) / steps for place in sorted(own.samples)]
        instances = each_place if len(each_place) == made[call] > 1 else None
        times[call] = CallTime(
            us / steps, MEASURED, len(samples), median, p10, p90_us=p90, instances=instances
        )
    return times
