"""`results.json`: samples of what the first steps of a program compute."""

import msgspec

RESULTS, EAGER_RESULTS = "results.json", "eager_results.json"


class Sample(msgspec.Struct, frozen=True, array_like=True):
    """Some of a tensor's numbers."""

    name: str
    """What it is, such as `Net, call 1: output 0` or `gradient 3 before step 2`."""
    dtype: str
    shape: tuple[int, ...]
    values: bytes
    """As float64, evenly spaced over the tensor."""


class Results(msgspec.Struct):
    """Samples in the order in which they were taken."""

    samples: list[Sample] = []
    in_float64: list[Sample] = []
    """What some of them are if the same function computes in float64, by the same names."""
    notes: list[str] = []
    """Why something is missing, as sentences."""
