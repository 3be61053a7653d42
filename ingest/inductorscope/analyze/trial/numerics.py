"""Compares what a program computes with and without a change."""

from typing import Literal

import msgspec
import numpy as np

from inductorscope.formats.results import Results, Sample

BOUNDS = {"float64": 1e-9, "float32": 1e-4, "float16": 4e-3, "bfloat16": 3e-2}
"""The largest relative error of a tensor, by its dtype."""
OF_PRODUCTS = {"high": BOUNDS["float16"], "medium": BOUNDS["bfloat16"]}
"""The bound of float32 if a change lets products be less precise: TF32's mantissa is float16's."""
EXACT = 1e-12
"""Tensors of other dtypes must be equal."""
TIMES_EAGER = 10.0
"""The error against float64 may be so many times that of eager."""
NOTHING = "No call of the first steps can be compared."
RANDOM = (
    "The results differ from eager's with and without the change, as those of programs with random "
    "numbers do."
)
Answer = Literal["equal", "within bounds", "outside", "unknown"]
Samples = dict[str, Sample]
Bounds = dict[str, float]


class Numerics(msgspec.Struct, frozen=True, kw_only=True):
    """How the changed program's results compare."""

    answer: Answer
    why: str = ""
    """Why the answer is unknown, as a sentence."""
    tensors: int = 0
    """Tensors compared."""
    beside_eager: bool = True
    """Whether they were compared with eager's; else with those of the program as it is."""
    worst: str = ""
    """The tensor with the largest share of its bound."""
    dtype: str = ""
    error: float = 0.0
    """Its relative error: the norm of the difference, divided by the norm."""
    before: float = 0.0
    """The relative error of this tensor without the change."""
    bound: float = 0.0


def compared(
    base: Results | None, changed: Results | None, eager: Results | None, products: str = "",
) -> Numerics:  # fmt: skip
    """Compares the changed program with eager, or with the program as it is if that itself differs
    from eager, as programs with random numbers do. `products`: the precision of products in float32
    that the change asks for."""
    bounds = BOUNDS | ({"float32": OF_PRODUCTS[products]} if products in OF_PRODUCTS else {})
    ours, theirs = _by_name(base), _by_name(changed)
    names = [name for name in ours if name in theirs]
    if not names:
        return Numerics(answer="unknown", why=NOTHING)
    if all(ours[name] == theirs[name] for name in names):
        return Numerics(answer="equal", tensors=len(names))
    plain = _by_name(eager)
    both = [name for name in names if name in plain]
    # What leaves its bound without the change, as sums of nearly nothing do, has a wider one.
    own = {name: _share(ours[name], plain[name], BOUNDS) for name in both}
    wider = {name: TIMES_EAGER * share for name, share in own.items() if share > 1.0}
    comparable = 2 * len(wider) < len(both)
    reference, wider = (plain, wider) if comparable else (ours, {})

    def used(name: str) -> float:
        return _share(theirs[name], reference[name], bounds) / wider.get(name, 1.0)

    worst = max((name for name in names if name in reference), key=used)
    float64_share = _share_of_float64(theirs, eager, bounds) if comparable and eager else 0.0
    answer: Answer = "within bounds"
    if float64_share > 1.0 or used(worst) > 1.0:
        answer = "outside" if comparable or not both else "unknown"
    return Numerics(
        answer=answer,
        why=RANDOM if answer == "unknown" else "",
        tensors=len(names),
        beside_eager=comparable,
        worst=worst,
        dtype=theirs[worst].dtype,
        error=_error(theirs[worst], reference[worst]),
        before=_error(ours[worst], reference[worst]),
        bound=_bound(theirs[worst], bounds) * wider.get(worst, 1.0),
    )


def _share_of_float64(ours: Samples, eager: Results, bounds: Bounds) -> float:
    """Returns the error against float64 as a share of what is allowed, of the tensor that differs
    most."""
    plain, largest = _by_name(eager), 0.0
    for exact in eager.in_float64:
        name = exact.name
        if name in ours and name in plain and plain[name].dtype in BOUNDS:
            error, own = _error(ours[name], exact), _error(plain[name], exact)
            allowed = max(TIMES_EAGER * own, _bound(plain[name], bounds))
            largest = max(largest, error / allowed)
    return largest


def _by_name(results: Results | None) -> Samples:
    return {sample.name: sample for sample in results.samples} if results else {}


def _share(sample: Sample, reference: Sample, bounds: Bounds) -> float:
    """Returns the error as a share of the bound."""
    return _error(sample, reference) / _bound(sample, bounds)


def _bound(sample: Sample, bounds: Bounds) -> float:
    return bounds.get(sample.dtype, EXACT)


def _error(sample: Sample, reference: Sample) -> float:
    """Returns the relative error; infinite if shapes or infinities differ."""
    if sample.shape != reference.shape:
        return float("inf")
    values, known = np.frombuffer(sample.values), np.frombuffer(reference.values)
    finite = np.isfinite(known)
    if not np.array_equal(finite, np.isfinite(values)):
        return float("inf")
    apart = float(np.linalg.norm(values[finite] - known[finite]))
    return apart / (float(np.linalg.norm(known[finite])) or 1.0) if apart else 0.0
