"""What a change does to a program's results."""

import numpy as np
import pytest
from inductorscope.analyze.trial.numerics import compared
from inductorscope.formats.results import Results, Sample

NUMBERS = np.linspace(-2.0, 3.0, 500)


def results(
    *values: np.ndarray, dtype: str = "float32", exact: np.ndarray | None = None
) -> Results:
    samples = [
        Sample(f"net, call {number}, tensor 0", dtype, value.shape, value.tobytes())
        for number, value in enumerate(values, 1)
    ]
    in_float64 = [] if exact is None else [
        Sample("net, call 1, tensor 0", "float64", exact.shape, exact.tobytes())
    ]  # fmt: skip
    return Results(samples, in_float64)


def test_equal_bits_are_equal_without_eager() -> None:
    assert compared(results(NUMBERS), results(NUMBERS), None).answer == "equal"


@pytest.mark.parametrize(
    ("dtype", "apart", "answer"),
    [
        ("float32", 1e-6, "within bounds"),
        ("float32", 1e-3, "outside"),
        ("bfloat16", 1e-3, "within bounds"),
        ("int64", 1e-6, "outside"),
    ],
)
def test_the_bound_follows_from_the_dtype(dtype: str, apart: float, answer: str) -> None:
    same = results(NUMBERS, dtype=dtype)
    found = compared(same, results(NUMBERS * (1 + apart), dtype=dtype), same)
    assert (found.answer, found.beside_eager) == (answer, True)
    assert found.error == pytest.approx(apart)


def test_products_in_tf32_are_as_precise_as_in_float16() -> None:
    same, near = results(NUMBERS), results(NUMBERS * (1 + 1e-3))
    assert compared(same, near, same, "high").answer == "within bounds"
    assert compared(same, results(NUMBERS * 1.01), same, "high").answer == "outside"


def test_a_tensor_that_differs_without_the_change_may_differ_ten_times_as_much() -> None:
    eager = results(NUMBERS, NUMBERS, NUMBERS)
    base = results(NUMBERS, NUMBERS, NUMBERS * 1.002)
    found = compared(base, results(NUMBERS, NUMBERS * 1.001, NUMBERS * 1.015), eager)
    assert (found.answer, round(found.error, 6), found.beside_eager) == ("outside", 0.001, True)
    found = compared(base, results(NUMBERS, NUMBERS, NUMBERS * 1.015), eager)
    assert (found.answer, found.tensors) == ("within bounds", 3)
    assert compared(base, results(NUMBERS, NUMBERS, NUMBERS * 1.03), eager).answer == "outside"


def test_the_worst_tensor_is_named() -> None:
    same = results(NUMBERS, NUMBERS)
    found = compared(same, results(NUMBERS * (1 + 1e-6), NUMBERS * (1 + 1e-5)), same)
    assert (found.worst, found.tensors) == ("net, call 2, tensor 0", 2)


def test_a_new_infinity_or_shape_is_outside() -> None:
    same, broken = results(NUMBERS), NUMBERS.copy()
    broken[3] = np.nan
    assert compared(same, results(broken), same).answer == "outside"
    assert compared(same, results(NUMBERS[:-1]), same).answer == "outside"


def test_random_numbers_are_compared_with_the_program_as_it_is() -> None:
    base, eager = results(NUMBERS), results(NUMBERS[::-1].copy())
    assert compared(base, results(NUMBERS * (1 + 1e-6)), eager).beside_eager is False
    other = compared(base, results(np.roll(NUMBERS, 7)), eager)
    assert (other.answer, bool(other.why)) == ("unknown", True)


def test_an_error_beyond_eagers_own_is_outside() -> None:
    """Eager is far from float64 already; the change is much farther, though near to eager."""
    exact, eager = NUMBERS, NUMBERS * (1 + 5e-5)
    far = results(NUMBERS * (1 - 6e-4))
    found = compared(results(eager), far, results(eager, exact=exact))
    assert found.answer == "outside"
    near = compared(results(eager), results(NUMBERS), results(eager, exact=exact))
    assert near.answer == "within bounds"


def test_nothing_in_common_is_unknown() -> None:
    assert compared(results(NUMBERS), Results(), None).answer == "unknown"
    assert compared(None, results(NUMBERS), None).answer == "unknown"
