"""Random compositions of operators, the same for the same number on every machine."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from bench.truth_programs.program import Case, Program

COUNT = 60
_Step = tuple[Callable[..., torch.Tensor], tuple[int, ...]]

_ONE: list[Callable[..., torch.Tensor]] = [
    torch.sin,
    torch.neg,
    torch.abs,
    torch.exp,
    torch.tanh,
    torch.sigmoid,
    torch.square,
    torch.relu,
    torch.erf,
    torch.sign,
    torch.floor,
    torch.reciprocal,
    F.gelu,
    F.silu,
    F.softplus,
    F.hardswish,
    F.elu,
    F.mish,
    F.leaky_relu,
    lambda x: torch.log1p(x.abs()),
    lambda x: torch.sqrt(x.abs() + 1),
    lambda x: torch.rsqrt(x * x + 1),
    lambda x: x * 0.5 + 1.25,
    lambda x: 1 - x,
    lambda x: x / 3,
    lambda x: x.pow(3),
    lambda x: x.clamp(-1, 2),
    lambda x: torch.softmax(x, -1),
    lambda x: F.log_softmax(x, 0),
    lambda x: x - x.mean(-1, keepdim=True),
    lambda x: x / x.abs().amax(0, keepdim=True).clamp_min(1e-3),
    lambda x: F.layer_norm(x, x.shape[-1:]),
    lambda x: x.var(-1, keepdim=True) + x,
    lambda x: torch.cumsum(x, -1),
    lambda x: x.flip(0),
    lambda x: torch.roll(x, 2, -1),
    lambda x: F.pad(x, (1, 1))[..., :-2],
    lambda x: x.transpose(0, 1).contiguous().transpose(0, 1),
    lambda x: x.reshape(-1).view(x.shape),
    lambda x: x.sum(0, keepdim=True).expand_as(x),
    lambda x: x.double().to(x.dtype),
    lambda x: x.to(torch.bfloat16).to(x.dtype),
    lambda x: torch.where(x > 0, x, x * 0.1),
    lambda x: x.masked_fill(x < -1, 0.0),
    lambda x: torch.sort(x, -1).values,
    lambda x: x + torch.arange(x.shape[-1], device=x.device),
    lambda x: torch.triu(x),
    lambda x: x[torch.arange(x.shape[0] - 1, -1, -1, device=x.device)],
    lambda x: x + x.argmax(-1, keepdim=True),
    lambda x: torch.cat([x[:, 3:], x[:, :3]], 1),
    lambda x: torch.stack([x, x * 2]).sum(0),
    lambda x: F.avg_pool1d(x, 3, 1, 1),
    lambda x: F.max_pool1d(x, 3, 1, 1),
    lambda x: torch.logsumexp(x, 1, keepdim=True) - x,
    lambda x: x.index_select(1, torch.arange(x.shape[1], device=x.device) % 3).cumsum(0),
    lambda x: torch.zeros_like(x).scatter_add(1, (x > 0).long(), x),
    lambda x: F.one_hot((x > 0).long(), 3).sum(-1) + x,
    lambda x: (x.long() % 5).to(x.dtype),
    lambda x: (x > 0).to(x.dtype),
    lambda x: torch.nan_to_num(x),
    lambda x: x.t().contiguous().t(),
]
_TWO: list[Callable[..., torch.Tensor]] = [
    torch.add,
    torch.sub,
    torch.mul,
    torch.maximum,
    torch.minimum,
    lambda x, y: x / (y.abs() + 1),
    lambda x, y: torch.where(x > y, x, y * 2),
    torch.atan2,
    lambda x, y: torch.lerp(x, y, 0.3),
    lambda x, y: torch.addcmul(x, x, y, value=0.5),
    torch.hypot,
    lambda x, y: x + y.mean(0),
    lambda x, y: x * y.sum(-1, keepdim=True),
    lambda x, y: (x @ y.t()) @ y,
    lambda x, y: torch.cat([x, y], 0)[: x.shape[0]],
    lambda x, y: x.lt(y).to(x.dtype) * x,
    lambda x, y: torch.fmod(x, y.abs() + 1),
    lambda x, y: torch.remainder(x, 1.5) + y,
    lambda x, y: F.mse_loss(x, y, reduction="none"),
    lambda x, y: torch.copysign(x, y),
    lambda x, y: x.gather(1, (y.abs().long() % x.shape[1])),
    lambda x, y: F.smooth_l1_loss(x, y, reduction="none"),
]
_DTYPES = (torch.float32, torch.float32, torch.float64, torch.bfloat16, torch.float16)


def programs() -> list[Program]:
    return [
        Program(f"composition-{number:03}", _maker(number)) for number in range(COUNT)
    ]  # fmt: skip


def _maker(number: int) -> Callable[[str], list[Case]]:
    def make(device: str) -> list[Case]:
        chance = random.Random(number)
        dtype = chance.choice(_DTYPES)
        train = chance.random() < 0.4
        dynamic = True if chance.random() < 0.3 else None
        shape = chance.choice([(6, 10), (17, 33), (33, 129), (64, 64), (5, 300)])
        inputs = tuple(
            torch.randn(shape, device=device, dtype=dtype, requires_grad=train) for _ in range(3)
        )
        steps = _steps(chance, inputs, chance.randint(5, 18))

        def run(*tensors: torch.Tensor) -> Any:  # noqa: ANN401  # as operators return
            return _run(steps, tensors)

        return [Case(run, inputs, train=train, dynamic=dynamic)]

    return make


def _steps(chance: random.Random, inputs: tuple[torch.Tensor, ...], count: int) -> list[_Step]:
    """Steps that run on the inputs; what an operator refuses is drawn again."""
    values = list(inputs)
    steps: list[_Step] = []
    while len(steps) < count:
        arity = 1 if chance.random() < 0.6 else 2
        function = chance.choice(_ONE if arity == 1 else _TWO)
        recent = range(max(0, len(values) - 5), len(values))
        places = tuple(chance.choice(recent) for _ in range(arity))
        try:
            value = function(*(values[place].detach() for place in places))
        except (RuntimeError, IndexError, NotImplementedError):
            continue  # torch's words for "not of this shape or dtype": try another operator
        if value.shape == inputs[0].shape and value.dtype == inputs[0].dtype:
            values.append(value)
            steps.append((function, places))
    return steps


def _run(steps: list[_Step], inputs: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
    values = list(inputs)
    used: set[int] = set()
    for function, places in steps:
        values.append(function(*(values[place] for place in places)))
        used.update(places)
    kept = [value for place, value in enumerate(values) if place not in used and place > 2]
    return (*kept, kept[-1].sum())
