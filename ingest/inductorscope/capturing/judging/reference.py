"""What the judge itself computes: operands, expected results, and comparisons. No judged code runs
here."""

import random
from typing import Any

import torch

from inductorscope.capturing.judging import arena
from inductorscope.capturing.judging.arena import Tensors
from inductorscope.capturing.judging.order import Order, Shape

VALUES = (
    "normal", "special", "uniform", "large", "negative", "tiny", "wide", "zeros", "equal",
)  # fmt: skip
"""Kinds of values; the first two are tried at every shape."""
EXACT = {torch.float64: 64, torch.float32: 64, torch.float16: 3, torch.bfloat16: 3}
"""Units in the last place, of the largest value, that a result may differ in any case."""
TIMES = 8.0
"""A result may be so many times as far from float64 as eager's or the original's."""
OF_SPECIAL = 1e-3
_ODD = (float("nan"), float("inf"), float("-inf"), -0.0, 0.0, 1e9, 1e9, -1e-40)
_FACTOR = {"large": 1e4, "tiny": 1e-20}


Difference = tuple[str, float]
"""How a result differs, and its largest error as a share of what is allowed."""


class Reference:
    """The graph's nodes in eager."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self.module: dict[str, Any] = {"__name__": "case"}
        # Written by this program from the FX nodes of a run that was captured here.
        exec(compile(order.reference, "reference.py", "exec"), self.module)  # noqa: S102
        self.eager = self.module["eager"]
        self.chance = random.SystemRandom()

    def fill(self, regions: torch.Tensor, shape: Shape, values: str, shift: int = 0) -> None:
        """Writes fresh operands, and poison where results will be."""
        regions.fill_(arena.BYTE)
        torch.manual_seed(self.chance.getrandbits(62))
        rows = arena.flat(regions, shape, shift)
        for operand in shape.operands:
            row = rows[operand.name]
            if operand.fill == "nothing":
                floating = row.dtype.is_floating_point or row.dtype.is_complex
                _raw(row).fill_(arena.NAN if floating else arena.BYTE)
            elif operand.fill == "zeros":
                row.zero_()
            else:
                row.copy_(_values(row, values, operand.bound))

    def expected(self, before: torch.Tensor, shape: Shape, shift: int) -> tuple[Tensors, Tensors]:
        """Returns what eager computes of a call's region by the name of the buffer, in its own
        types and, if every operation has them, in float64."""
        if self.eager is None:
            return {}, {}
        self.module.update(shape.numbers)
        rows = arena.flat(before.clone(), shape, shift)
        wide = {name: v.double() if v.is_floating_point() else v for name, v in rows.items()}
        plain: Tensors = self.eager(arena.views(rows, shape, 0))
        try:
            return plain, self.eager(arena.views(wide, shape, 0))
        except (RuntimeError, TypeError):
            return plain, {}


def _values(row: torch.Tensor, values: str, bound: int) -> torch.Tensor:
    device = row.device
    if row.dtype == torch.bool:
        return torch.randint(0, 2, row.shape, dtype=torch.bool, device=device)
    if not (row.dtype.is_floating_point or row.dtype.is_complex):
        below = max(1, min(bound, torch.iinfo(row.dtype).max))
        found = torch.randint(0, below, row.shape, device=device)
        return {"zeros": found * 0, "equal": found * 0 + below - 1}.get(values, found)
    found = (torch.rand if values == "uniform" else torch.randn)(row.shape, device=device)
    if values == "special":
        # All large ones have one sign: where a sum cancels them, what is left is rounding alone.
        signed = torch.tensor(_ODD, device=device) * (1 - 2 * torch.randint(2, (), device=device))
        odd = signed[torch.randint(len(_ODD), row.shape, device=device)]
        return torch.where(torch.rand(row.shape, device=device) < 0.06, odd, found)
    if values == "wide":
        return found * 10.0 ** torch.randint(-4, 5, row.shape, device=device)
    if values == "negative":
        return -1e4 * found.abs()
    if values == "zeros":
        return torch.where(found > 0, 0.0, -0.0)
    return found * 0 + float(found.flatten()[0]) if values == "equal" and found.numel() else (
        found * _FACTOR.get(values, 1.0)
    )  # fmt: skip


def untouched(before: torch.Tensor, after: torch.Tensor, shape: Shape, shift: int) -> str:
    """Says what changed besides the results; empty if nothing did."""
    held = after.clone()
    rows, source = arena.flat(held, shape, shift), arena.flat(before, shape, shift)
    for operand in shape.operands:
        row, was = _raw(rows[operand.name]), _raw(source[operand.name])
        if operand.written:
            row.copy_(was)
        elif not torch.equal(row, was):
            return f"it changed its input {operand.name}."
    return "" if torch.equal(held, before) else "it wrote outside of its results."


def _raw(value: torch.Tensor) -> torch.Tensor:
    return value.view(torch.uint8) if value.shape[-1] else value


def difference(
    made: torch.Tensor, original: torch.Tensor, eager: torch.Tensor | None,
    exact: torch.Tensor | None, special: bool,
) -> Difference:  # fmt: skip
    """Compares a result. Infinities and NaN must be eager's or the original's; other values may be
    a few times as far from float64 as these are, or some units in the last place of the largest."""
    if torch.equal(made, original) and eager is None:
        return "", 0.0
    truth = original if eager is None else eager.reshape(made.shape)
    if made.dtype not in EXACT:
        same = (made == original) | (made == truth.to(made.dtype))
        return _counted(~same, "differ", 9.0 * float(not same.all()))
    ours, theirs, plain = made.double(), original.double(), truth.double()
    alike = _alike(ours, theirs) | _alike(ours, plain)
    if not bool(alike.all()):
        return _counted(
            ~alike, "are NaN, as before they are written, or infinite, or should be", 9.0
        )
    goal = plain if exact is None else exact.reshape(made.shape).double()
    goal = torch.where(torch.isfinite(goal), goal, plain)
    counts = torch.isfinite(ours + theirs + plain)
    error, goal = torch.where(counts, (ours - goal).abs(), 0.0), torch.where(counts, goal, 0.0)
    least = torch.maximum((theirs - goal).abs(), (plain - goal).abs()).where(counts, 0.0)
    unit = EXACT[made.dtype] * torch.finfo(made.dtype).eps
    if special:  # large values beside small ones
        allowed = TIMES * least + OF_SPECIAL * goal.abs() + 8 * unit
    else:
        most = TIMES * _largest(least) + unit * _largest(goal.abs())
        allowed = torch.full_like(goal, most)
    share = error / (allowed + 2 * torch.finfo(made.dtype).tiny)
    worst = _largest(share)
    if worst <= 1.0:
        return "", worst
    at = int(share.flatten().argmax())
    told = f"differ: {float(ours.flatten()[at]):.6g} instead of {float(goal.flatten()[at]):.6g}"
    return _counted(share > 1.0, told, worst)


def close(made: torch.Tensor, original: torch.Tensor) -> bool:
    """Whether `difference` is sure to find nothing, which takes less time to see. Knows no NaN."""
    if made.dtype not in EXACT or not made.numel():
        return bool(torch.equal(made, original))
    unit = EXACT[made.dtype] * torch.finfo(made.dtype).eps
    return bool((made - original).abs().max() <= unit / 2 * original.abs().max())


def _largest(values: torch.Tensor) -> float:
    return float(values.max()) if values.numel() else 0.0


def _alike(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    finite = torch.isfinite(one) & torch.isfinite(other)
    return finite | (one == other) | (torch.isnan(one) & torch.isnan(other))


def _counted(wrong: torch.Tensor, what: str, share: float) -> Difference:
    count = int(wrong.sum())
    return f"{count:,} of {wrong.numel():,} values {what}" if count else "", share
