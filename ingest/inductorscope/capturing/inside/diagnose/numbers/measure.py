"""Measures how far two tensors differ, and whether rounding can be the reason."""

import torch

from inductorscope.analyze.failures.numbers import Measured

OWN_ROUNDINGS = 4
"""Allowed roundings of the result itself: half of one always occurs, and functions of libraries are
accurate to one or two."""
TIMES_NOISE = 8
"""Allowed error of the compiled side, as a multiple of the error of the other ways to compute."""
LONG_SUM = 16.0
"""Rounding grows with the root of a sum's length; smaller roots do not count."""

_INTS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}

TOLERANCE = (
    f"A result may be off by {OWN_ROUNDINGS} roundings of its dtype, plus {TIMES_NOISE} times the "
    "error of other correct ways to compute it: as the graph is written, and in float64 with every "
    "operation's result perturbed by one rounding. So changes from fusion, from another order of a "
    "sum, or from float32 inside a kernel are tolerated, and an error that rounding cannot explain "
    "is reported."
)
REASONS = {
    "float64": "52 bits after the point: one rounding is 2.2e-16 of the value",
    "float32": "23 bits after the point: one rounding is 1.2e-07 of the value",
    "float16": "10 bits after the point, largest 65,504: one rounding is 0.00098 of the value",
    "bfloat16": "7 bits after the point: one rounding is 0.0078 of the value. Compiled kernels "
    "round once where eager rounds after each operation, which float64 in between allows for",
    "integer": "integers and booleans must be equal, except where rounding decides them "
    "(a comparison of two nearly equal values)",
}


def measure(
    compiled: torch.Tensor,
    written: torch.Tensor,
    exact: torch.Tensor,
    others: list[torch.Tensor],
    terms: int,
    again: torch.Tensor | None = None,
) -> Measured:
    """Compares a value. `others` are further ways to compute it; `terms` is the longest sum.

    `again` is the compiled side's value in a second call: changes between calls are tolerated.
    """
    if not (compiled.is_floating_point() and exact.is_floating_point()):
        return _measure_whole(compiled, written, [exact, *others], again)
    dtype = compiled.dtype
    near = exact.double()
    kinds = [_kinds(value) for value in (written, exact.to(dtype), *(o.to(dtype) for o in others))]
    own_kind = _kinds(compiled)
    kind_known = torch.stack([own_kind == kind for kind in kinds]).any(0)
    finite = (own_kind == 0) & torch.isfinite(near)
    error = torch.where(finite, (compiled.double() - near).abs(), 0.0)
    allowed = _allowed(dtype, near, [written, *others], finite, terms)
    if again is not None:
        allowed = allowed + TIMES_NOISE * (compiled.double() - again.double()).abs().nan_to_num(
            float("inf")
        )
    ratio = torch.where(finite, error / allowed, 0.0)
    ratio = torch.where(torch.isinf(allowed), 0.0, ratio)
    wrong = (finite & (ratio > 1)) | ~kind_known
    worst = int(ratio.argmax()) if ratio.numel() else None
    excess = 0.0 if worst is None else float(ratio.flatten()[worst])
    if bool((~kind_known).any()):
        excess = float("inf")
    large = finite & (near.abs() > torch.finfo(dtype).smallest_normal)
    return Measured(
        agrees=not bool(wrong.any()),
        max_abs=_largest(error),
        max_rel=_largest(torch.where(large, error / near.abs(), 0.0)),
        allowed=None if worst is None else float(allowed.flatten()[worst]),
        excess=excess,
        cosine=_cosine(compiled.double(), near, finite),
        ulps=_ulps(compiled, exact.to(dtype), finite),
        eager_abs=_largest(torch.where(finite, (written.double() - near).abs(), 0.0).nan_to_num()),
        nan=(int(compiled.isnan().sum()), int(written.isnan().sum())),
        inf=(int(compiled.isinf().sum()), int(written.isinf().sum())),
        wrong=int(wrong.sum()),
        elements=compiled.numel(),
    )


def _allowed(
    dtype: torch.dtype,
    near: torch.Tensor,
    others: list[torch.Tensor],
    finite: torch.Tensor,
    terms: int,
) -> torch.Tensor:
    info = torch.finfo(dtype)
    noise = torch.zeros_like(near)
    common = 0.0
    for other in others:
        apart = (other.double() - near).abs()
        usable = finite & torch.isfinite(apart)
        apart = torch.where(usable, apart, torch.where(finite, float("inf"), 0.0))
        noise = torch.maximum(noise, apart)
        count = int(usable.sum())
        if count:
            squares = torch.where(usable, apart, 0.0).square().sum()
            common = max(common, float((squares / count).sqrt()))
    longer = 1 + terms**0.5 / LONG_SUM
    accumulated = min(info.eps, torch.finfo(torch.float32).eps) * terms**0.5
    own = (OWN_ROUNDINGS * info.eps + accumulated) * near.abs()
    least = info.smallest_normal * (info.eps if dtype == torch.float16 else 1)
    return own + TIMES_NOISE * longer * noise.clamp_min(common) + least


def _measure_whole(
    compiled: torch.Tensor,
    written: torch.Tensor,
    others: list[torch.Tensor],
    again: torch.Tensor | None,
) -> Measured:
    """Compares integers, booleans, complex numbers: equal, except where other ways differ too."""
    if compiled.is_complex():
        pairs = [torch.view_as_real(value.resolve_conj()) for value in (compiled, written, *others)]
        return measure(pairs[0], pairs[1], pairs[2].double(), pairs[3:], 1)
    differs = compiled != written
    decided = torch.ones_like(differs)
    for other in others:
        decided &= other == written
    if again is not None:
        decided &= compiled == again
    wrong = differs & decided
    count = int(wrong.sum())
    apart = (compiled.double() - written.double()).abs()
    return Measured(
        agrees=count == 0, max_abs=_largest(torch.where(differs, apart, 0.0)), max_rel=None,
        allowed=0.0, excess=float("inf") if count else 0.0, eager_abs=0.0,
        nan=(0, 0), inf=(0, 0), wrong=count, elements=compiled.numel(),
    )  # fmt: skip


def _kinds(value: torch.Tensor) -> torch.Tensor:
    """Returns 0 for a finite value, 1 for NaN, 2 and 3 for the infinities."""
    kinds = value.isnan().to(torch.int8)
    kinds = torch.where(value == float("inf"), 2, kinds)
    return torch.where(value == -float("inf"), 3, kinds)


def _largest(values: torch.Tensor) -> float | None:
    return float(values.max()) if values.numel() else None


def _cosine(left: torch.Tensor, right: torch.Tensor, finite: torch.Tensor) -> float | None:
    left, right = torch.where(finite, left, 0.0), torch.where(finite, right, 0.0)
    scale = left.abs().max() * right.abs().max() if left.numel() else None
    if scale is None or not float(scale) > 0:
        return None
    left, right = left / left.abs().max(), right / right.abs().max()
    return float((left * right).sum() / (left.square().sum() * right.square().sum()).sqrt())


def _ulps(left: torch.Tensor, right: torch.Tensor, finite: torch.Tensor) -> int | None:
    """Returns the largest distance of two tensors in representable values of their dtype."""
    if not left.numel():
        return None
    left, right = _ordered(left), _ordered(right)
    apart = torch.maximum(left, right) - torch.minimum(left, right)
    # More than half of all float64 values are more than an integer holds.
    apart = torch.where(apart < 0, torch.iinfo(torch.int64).max, apart)
    return int(torch.where(finite, apart, 0).max())


def _ordered(value: torch.Tensor) -> torch.Tensor:
    """Maps floats to integers in the same order, zero to zero."""
    width = value.element_size()
    bits = value.contiguous().view(_INTS[width]).long()
    lowest = -(2 ** (8 * width - 1))
    return torch.where(bits < 0, lowest - bits, bits)
