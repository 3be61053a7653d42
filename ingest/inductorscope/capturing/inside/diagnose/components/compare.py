"""Compares two results of a program tensor by tensor, within the tolerance of their types."""

from dataclasses import dataclass

import torch

from inductorscope.capturing.inside.untyped import Untyped

TOLERANCES: dict[torch.dtype, tuple[float, float]] = {
    torch.float64: (1e-7, 1e-7),
    torch.float32: (1e-4, 1e-4),
    torch.float16: (2e-3, 2e-3),
    torch.bfloat16: (1.6e-2, 1.6e-2),
    torch.complex64: (1e-4, 1e-4),
    torch.complex128: (1e-7, 1e-7),
}
"""Type → relative and absolute tolerance: fusion keeps intermediate results in float and reorders
sums. Integers and booleans must be equal."""
TIMES_EAGER = 2.0
"""A result outside the tolerance is still right if its distance from the float64 run is at most
this many times that of eager."""


@dataclass(frozen=True)
class Difference:
    """The largest difference of two results."""

    agrees: bool
    where: str = ""
    why: str = ""
    max_abs: float | None = None
    max_rel: float | None = None
    tolerance: str = ""


def flat(value: Untyped, name: str = "output") -> dict[str, torch.Tensor]:
    """Returns every tensor of a result, named by its position."""
    if isinstance(value, torch.Tensor):
        return {name: value.detach().to("cpu").clone()}
    if isinstance(value, dict):
        pairs = [(f"{name}[{key!r}]", item) for key, item in value.items()]
    elif isinstance(value, list | tuple):
        pairs = [(f"{name}[{at}]", item) for at, item in enumerate(value)]
    elif hasattr(value, "__dict__"):
        pairs = [(f"{name}.{key}", item) for key, item in vars(value).items()]
    else:
        pairs = []
    tensors: dict[str, torch.Tensor] = {}
    for inner, item in pairs:
        tensors |= flat(item, inner)
    return tensors


def compare(
    eager: dict[str, torch.Tensor],
    compiled: dict[str, torch.Tensor],
    exact: dict[str, torch.Tensor],
) -> Difference:
    """Returns the largest difference; `exact` are the results of the float64 run, if any."""
    if eager.keys() != compiled.keys():
        odd = sorted(eager.keys() ^ compiled.keys())[0]
        return Difference(False, odd, "only difference of the two results has it")
    worst = Difference(True, max_abs=0.0, max_rel=0.0)
    for name, expected in eager.items():
        difference = _pair(name, expected, compiled[name], exact.get(name))
        if not difference.agrees:
            return difference
        if (difference.max_abs or 0.0) >= (worst.max_abs or 0.0):
            worst = difference
    return worst


def _pair(
    name: str, expected: torch.Tensor, actual: torch.Tensor, exact: torch.Tensor | None
) -> Difference:
    if (expected.shape, expected.dtype) != (actual.shape, actual.dtype):
        reason = f"eager gives {_layout(expected)}, compiled {_layout(actual)}"
        return Difference(False, name, reason)
    if not expected.numel():
        return Difference(True, name, max_abs=0.0, max_rel=0.0)
    relative, absolute = TOLERANCES.get(expected.dtype, (0.0, 0.0))
    wide = torch.complex128 if expected.is_complex() else torch.float64
    left, right = expected.to(wide), actual.to(wide)
    difference = (left - right).abs().nan_to_num(0.0, posinf=torch.inf)
    largest = float(difference.max())
    scaled = float((difference / left.abs().clamp_min(1e-30)).nan_to_num(0.0).max())
    allowed = f"{absolute:g} + {relative:g} × |value|" if relative else "none"
    close = torch.isclose(left, right, relative, absolute, equal_nan=True)
    same = bool(close.all())
    if not same and exact is not None and exact.shape == expected.shape and relative:
        truth = exact.to(wide)
        eager_error, error = _rms(left - truth), _rms(right - truth)
        if error <= TIMES_EAGER * eager_error + absolute:
            same, allowed = True, f"{allowed}, or as close to float64 as eager"
    wrong = int((~close).sum())
    why = f"{wrong:,} of {expected.numel():,} values differ by more than the tolerance"
    return Difference(same, name, "" if same else why, largest, max_rel=scaled, tolerance=allowed)


def _rms(difference: torch.Tensor) -> float:
    return float(difference.abs().square().mean().sqrt())


def _layout(tensor: torch.Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"
