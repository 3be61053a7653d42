"""What times of fresh processes say: slower, faster, the same, or nothing yet; and shares."""

import math

import numpy as np
import pytest
from inductorscope.analyze.measure.judge import LOOKS, Judged, judge, judge_all, shift_of, statistic
from inductorscope.analyze.measure.result import (
    NOTHING,
    Cause,
    Measurement,
    Side,
    causes_of,
    turned,
)
from inductorscope.answers.compare.measured import in_words

pytest.importorskip("scipy")


def times(middle: float, spread: float, count: int, seed: int = 0) -> list[float]:
    values = np.random.default_rng(seed).normal(middle, middle * spread, count)
    return [float(value) for value in values]


@pytest.mark.parametrize(
    ("a", "b", "answer"),
    [
        (times(10, 0.005, 6), times(10.5, 0.005, 6, 1), "slower"),
        (times(10.5, 0.005, 6), times(10, 0.005, 6, 1), "faster"),
        (times(10, 0.004, 9), times(10, 0.004, 9, 1), "the same"),
        (times(10, 0.05, 6), times(10.3, 0.05, 6, 1), "cannot tell"),
        # Certain, but nobody's concern: half a percent, or less than a microsecond.
        (times(10, 0.0005, 9), times(10.05, 0.0005, 9, 1), "the same"),
        (times(0.002, 0.01, 6), times(0.0025, 0.01, 6, 1), "cannot tell"),
        # Too few can say nothing, however far apart.
        (times(10, 0.001, 5), times(20, 0.001, 5, 1), "cannot tell"),
    ],
)
def test_answers(a: list[float], b: list[float], answer: str) -> None:
    found = judge(a, b)
    assert found.answer == answer
    assert found.low <= found.shift <= found.high
    assert (found.more is not None) <= (answer == "cannot tell")
    other = judge(b, a)
    assert other.answer == {"slower": "faster", "faster": "slower"}.get(answer, answer)
    assert math.isclose((1 + other.shift) * (1 + found.shift), 1)


@pytest.mark.parametrize(
    ("judged", "why"),
    [
        (Judged("cannot tell", 0.005, 0.001, 0.03, 0.001, 8.0, 8.04, 6), "must be at least 1.0"),
        (Judged("cannot tell", 0.02, 0.01, 0.04, 0.01, 8.0, 8.2, 6), "1 of 100 measurements"),
    ],
)
def test_an_interval_without_0_that_is_no_answer_says_why(judged: Judged, why: str) -> None:
    assert judged.low > 0
    sides = [Side([judged.a_ms], None, ""), Side([judged.b_ms], None, "")]
    assert why in in_words(Measurement(sides, judged))


def test_intervals_of_few_processes_hold_the_true_difference() -> None:
    held = 0
    for seed in range(100):
        _, low, high = shift_of(times(10, 0.05, 6, seed), times(13, 0.05, 6, 100 + seed))
        held += low <= 0.3 <= high
    assert held >= 93


def test_the_statistic_is_scipys() -> None:
    from scipy.stats import brunnermunzel

    for seed in range(20):
        a, b = np.array(times(10, 0.1, 7, seed)), np.array(times(10.5, 0.2, 9, seed + 50))
        assert math.isclose(float(statistic(a, b)), brunnermunzel(a, b).statistic)


def test_many_kernels_raise_no_more_alarms() -> None:
    """Of twenty equal kernels, one seems to differ at 5 %; with the correction none does."""
    equal = {str(k): (times(1, 0.05, 9, k), times(1, 0.05, 9, 100 + k)) for k in range(20)}
    assert any(judge(*pair).p < 0.05 for pair in equal.values())
    slower = {"slower": (times(1, 0.01, 9), times(1.2, 0.01, 9, 7))}
    found = judge_all(equal | slower)
    assert [name for name, row in found.items() if row.answer in ("slower", "faster")] == ["slower"]
    assert judge_all({}) == {}


def test_shares_sum_to_the_difference_and_turn() -> None:
    a, b = times(10, 0.002, LOOKS[0]), times(11, 0.002, LOOKS[0], 1)
    split = (times(2, 0.01, 6), times(2.7, 0.01, 6, 3))
    new = ([0.0] * 6, times(0.2, 0.01, 6, 4))
    empty = Cause("", [], [], "split", 0.0, 0.0, None, NOTHING)
    causes, rest = causes_of((a, b), {"new": (empty, new), "split": (empty, split)})
    assert [round(cause.share.share, 1) for cause in causes] == [0.7, 0.2]
    assert math.isclose(sum(cause.share.share for cause in causes) + rest.share, 1)
    assert all(row.low <= row.share <= row.high for row in (*(c.share for c in causes), rest))
    assert causes[0].judged is not None
    assert causes[0].judged.answer == "slower"
    assert causes[1].judged is None  # only B has it: nothing to test

    whole = Measurement([Side(a, None, ""), Side(b, None, "")], judge(a, b), causes, rest)
    back = turned(whole)
    assert back.judged is not None
    assert back.judged.answer == "faster"
    assert back.judged.low <= back.judged.shift <= back.judged.high
    assert (back.causes[0].a_ms, back.causes[0].share) == (causes[0].b_ms, causes[0].share)
    assert back.causes[0].change == "merged"
    assert turned(back).sides == whole.sides
