"""Rows and bars of a timeline: nothing overlaps, nothing is lost."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inductorscope.analyze.timeline.bars import Bars, merged
from inductorscope.analyze.timeline.nesting import CLOCK_US, INSTANT_US, parents_of, rows_of

Event = tuple[float, float]
TIMES = st.integers(0, 400).map(lambda number: number / 4)
EVENTS = st.lists(st.tuples(TIMES, TIMES), min_size=1, max_size=60)


def sorted_events(events: list[Event]) -> tuple[np.ndarray, np.ndarray]:
    ordered = sorted(events, key=lambda event: (event[0], -event[1]))
    return np.array([pair[0] for pair in ordered]), np.array([pair[1] for pair in ordered])


@given(EVENTS)
def test_events_of_a_row_do_not_overlap(events: list[Event]) -> None:
    ts, us = sorted_events(events)
    rows = rows_of(ts, us)
    assert (rows >= 0).all()
    for row in range(rows.max() + 1):
        own = rows == row
        end = np.maximum(ts[own] + us[own] - CLOCK_US, ts[own] + INSTANT_US)
        assert (end[:-1] <= ts[own][1:]).all()


def test_nested_events_lie_below_each_other() -> None:
    ts = np.array([0.0, 0.0, 1.0, 5.0, 10.0, 10.0005])
    us = np.array([10.001, 4.0, 2.0, 5.0, 3.0, 1.0])
    rows = rows_of(ts, us)
    assert rows.tolist() == [0, 1, 2, 1, 0, 1]
    assert parents_of(rows, ts, us).tolist() == [-1, 0, 1, 0, -1, 4]


def bars_of(events: list[Event]) -> Bars:
    ts, us = sorted_events(events)
    rows = rows_of(ts, us)
    order = np.argsort(rows, kind="stable")
    ts, us, count = ts[order], us[order], len(order)
    numbers = np.arange(count, dtype=np.int32)
    return Bars(
        rows[order], ts, us, us, np.ones(count, np.int32), numbers % 5, numbers % 3, numbers
    )


@given(EVENTS, st.sampled_from([0.5, 3.0, 16.0, 500.0]))
def test_merging_keeps_counts_sums_and_ends(events: list[Event], resolution: float) -> None:
    bars = bars_of(events)
    some = merged(merged(bars, resolution), resolution * 4)
    assert some.count.sum() == len(events)
    assert some.busy.sum() == pytest.approx(bars.busy.sum())
    for row in np.unique(bars.row):
        before, after = bars.taken(bars.row == row), some.taken(some.row == row)
        assert after.busy.sum() == pytest.approx(before.busy.sum())
        assert after.ts.min() == before.ts.min()
        assert (after.ts + after.us).max() == (before.ts + before.us).max()
        assert (np.diff(after.ts) > 0).all()
    single = some.count == 1
    assert (some.us[single] == some.busy[single]).all()
    assert (some.name[single] >= 0).all()


def test_a_merged_bar_has_the_category_with_the_most_time() -> None:
    numbers = np.arange(3, dtype=np.int32)
    us = np.array([1.0, 3.0, 1.0])
    bars = Bars(
        np.zeros(3, np.int32), np.array([0.0, 2.0, 6.0]), us, us, np.ones(3, np.int32),
        numbers, np.array([2, 1, 2], np.int32), numbers,
    )  # fmt: skip
    one = merged(bars, 10.0)
    assert (one.count.tolist(), one.category.tolist(), one.name.tolist()) == ([3], [1], [-1])
    assert (one.us.tolist(), one.busy.tolist()) == ([7.0], [5.0])
