"""Whether two results of a program agree, tensor by tensor, within what their types allow."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from inductorscope.capture.inside.untyped import Untyped

TOLERANCES: dict[torch.dtype, tuple[float, float]] = {
    torch.float64: (1e-7, 1e-7),
    torch.float32: (1e-4, 1e-4),
    torch.float16: (2e-3, 2e-3),
    torch.bfloat16: (1.6e-2, 1.6e-2),
    torch.complex64: (1e-4, 1e-4),
    torch.complex128: (1e-7, 1e-7),
}
"""Type → relative and absolute difference that compiling may make: fusion keeps intermediate
results in float and orders sums otherwise. Integers and booleans must be equal."""
CLOSER = 2.0
"""A result that strays further is right all the same, when it is not this many times further from
the float64 run than the eager one is."""


@dataclass(frozen=True)
class Difference:
    """How far apart two results are at their worst."""

    agrees: bool
    where: str = ""
    why: str = ""
    max_abs: float | None = None
    max_rel: float | None = None
    tolerance: str = ""


def flat(value: Untyped, name: str = "output") -> dict[str, torch.Tensor]:
    """Every tensor of a result under a name that says where it is."""
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
    found: dict[str, torch.Tensor] = {}
    for inner, item in pairs:
        found |= flat(item, inner)
    return found


def compare(
    eager: dict[str, torch.Tensor],
    compiled: dict[str, torch.Tensor],
    exact: dict[str, torch.Tensor],
) -> Difference:
    """The worst tensor; `exact` are results of the float64 run, as far as there is one."""
    if eager.keys() != compiled.keys():
        odd = sorted(eager.keys() ^ compiled.keys())[0]
        return Difference(False, odd, "only one of the two results has it")
    worst = Difference(True, max_abs=0.0, max_rel=0.0)
    for name, expected in eager.items():
        one = _pair(name, expected, compiled[name], exact.get(name))
        if not one.agrees:
            return one
        if (one.max_abs or 0.0) >= (worst.max_abs or 0.0):
            worst = one
    return worst


def _pair(
    name: str, expected: torch.Tensor, given: torch.Tensor, exact: torch.Tensor | None
) -> Difference:
    if (expected.shape, expected.dtype) != (given.shape, given.dtype):
        said = f"eager gives {_layout(expected)}, compiled {_layout(given)}"
        return Difference(False, name, said)
    if not expected.numel():
        return Difference(True, name, max_abs=0.0, max_rel=0.0)
    relative, absolute = TOLERANCES.get(expected.dtype, (0.0, 0.0))
    wide = torch.complex128 if expected.is_complex() else torch.float64
    left, right = expected.to(wide), given.to(wide)
    difference = (left - right).abs().nan_to_num(0.0, posinf=torch.inf)
    largest = float(difference.max())
    scaled = float((difference / left.abs().clamp_min(1e-30)).nan_to_num(0.0).max())
    allowed = f"{absolute:g} + {relative:g} × |value|" if relative else "none"
    close = torch.isclose(left, right, relative, absolute, equal_nan=True)
    same = bool(close.all())
    if not same and exact is not None and exact.shape == expected.shape and relative:
        truth = exact.to(wide)
        eager_error, error = _rms(left - truth), _rms(right - truth)
        if error <= CLOSER * eager_error + absolute:
            same, allowed = True, f"{allowed}, or as near to float64 as eager"
    wrong = int((~close).sum())
    why = f"{wrong:,} of {expected.numel():,} values differ by more than is allowed"
    return Difference(same, name, "" if same else why, largest, scaled, allowed)


def _rms(difference: torch.Tensor) -> float:
    return float(difference.abs().square().mean().sqrt())


def _layout(tensor: torch.Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"
