"""Whole models of families that the other files lack, written to judge the engine.

Nobody had tuned it for them. This file has steps of optimizers and the list of all; the models are
in `family_pictures.py` and `family_sequences.py`.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from bench.truth_programs.family_kin import Modulated, Pooled, Routes, signed, sketched, sm3
from bench.truth_programs.family_pictures import (
    Branches,
    Capsules,
    Cardinal,
    ConvNext,
    Flow,
    Mixer,
    Points,
    Radiance,
    Registers,
    Shifted,
    SmallHard,
    Styled,
    TimedUnet,
    Upscaled,
)
from bench.truth_programs.family_sequences import (
    Cached,
    Conformer,
    Contrasted,
    Coupling,
    Eights,
    GatedMlp,
    Mixture,
    Molecule,
    Queries,
    Recommender,
    Retention,
    Selective,
    Translator,
    Variational,
    Wave,
)
from bench.truth_programs.program import Case, Program

_Tensors = tuple[torch.Tensor, ...]
_Inputs = Callable[[str], _Tensors]


def lion(w: torch.Tensor, grad: torch.Tensor, m: torch.Tensor, _: torch.Tensor) -> None:
    """The sign of a mean, beside a decay; the norm of all gradients is capped."""
    grad = grad * (1.0 / (grad.norm() + 1e-6)).clamp(max=1)
    w.mul_(1 - 1e-4).add_(torch.sign(m * 0.9 + grad * 0.1), alpha=-1e-3)
    m.lerp_(grad, 0.01)


def factored(w: torch.Tensor, grad: torch.Tensor, rows: torch.Tensor, cols: torch.Tensor) -> None:
    """Adafactor: second moments by rows and columns, updates clipped by their root mean square."""
    square = grad.square() + 1e-30
    rows[:, 0].mul_(0.99).add_(square.mean(1), alpha=0.01)
    cols[0].mul_(0.99).add_(square.mean(0), alpha=0.01)
    r = (rows[:, 0] / rows[:, 0].mean()).rsqrt()[:, None]
    step = grad * r * cols[0].rsqrt()[None]
    step = step / (step.square().mean().sqrt() / 1.0).clamp(min=1.0)
    w.sub_(step * w.square().mean().sqrt().clamp(min=1e-3) * 0.01)


def lamb(w: torch.Tensor, grad: torch.Tensor, m: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """LAMB: Adam's step, as long as the weights say; an average of weights beside it."""
    m.mul_(0.9).add_(grad, alpha=0.1)
    v.mul_(0.999).addcmul_(grad, grad, value=0.001)
    step = (m / 0.1) / ((v.abs() / 0.001).sqrt() + 1e-6) + 0.01 * w
    long, far = w.norm(), step.norm()
    trust = torch.where(long > 0, torch.where(far > 0, long / far, 1.0), 1.0)
    w.add_(-1e-3 * trust * step)
    return 0.999 * v + 0.001 * w.detach()


def _floats(*shapes: tuple[int, ...]) -> _Inputs:
    return lambda device: tuple(torch.randn(shape, device=device) for shape in shapes)


def _with(*shapes: tuple[int, ...], whole: tuple[tuple[int, tuple[int, ...]], ...]) -> _Inputs:
    """Floats, then whole numbers below a limit."""
    return lambda device: (
        *(torch.randn(shape, device=device) for shape in shapes),
        *(torch.randint(0, limit, shape, device=device) for limit, shape in whole),
    )


def _clicks(device: str) -> _Tensors:
    return (torch.randn(9, 5, device=device), torch.randint(0, 30, (9, 3, 4), device=device),
            torch.rand(9, device=device))  # fmt: skip


def _molecule(device: str) -> _Tensors:
    return (torch.randint(0, 9, (14,), device=device), torch.randn(14, 3, device=device) * 2,
            torch.randint(0, 14, (2, 40), device=device),
            torch.randint(0, 3, (14,), device=device))  # fmt: skip


def _step(device: str) -> _Tensors:
    return torch.randint(0, 60, (2, 3), device=device), torch.arange(5, 8, device=device)


_MODELS: tuple[tuple[str, type[nn.Module], _Inputs, str], ...] = (
    ("convnext", ConvNext, _floats((2, 3, 32, 32)), "bfloat16"),
    ("shifted", Shifted, _floats((2, 3, 16, 16)), "dynamic"),
    ("mixer", Mixer, _floats((2, 3, 16, 16)), "float16"),
    ("registers", Registers, _floats((2, 3, 16, 16)), "bfloat16"),
    ("cardinal", Cardinal, _with((3, 3, 32, 32), whole=((9, (3,)),)), "bfloat16"),
    ("branches", Branches, _floats((2, 6, 14, 14)), "dynamic"),
    ("small-hard", SmallHard, _floats((2, 3, 20, 20)), "float16"),
    ("styled", Styled, _floats((3, 12)), "dynamic"),
    ("upscaled", Upscaled, _floats((1, 3, 9, 9), (1, 3, 18, 18)), "bfloat16"),
    ("flow", Flow, _floats((1, 3, 16, 16), (1, 3, 16, 16)), "float64"),
    ("timed-unet", TimedUnet,
     _with((2, 3, 16, 16), (2, 3, 16, 16), whole=((50, (2,)),)), "dynamic"),
    ("capsules", Capsules, _with((2, 1, 16, 16), whole=((5, (2,)),)), "dynamic"),
    ("points", Points, _floats((2, 18, 3)), "dynamic"),
    ("radiance", Radiance, _floats((7, 3), (7, 3), (7, 3)), "dynamic"),
    ("gated-mlp", GatedMlp, _with(whole=((50, (2, 11)),)), "bfloat16"),
    ("selective", Selective, _floats((2, 5, 12)), "float16"),
    ("retention", Retention, _floats((2, 9, 24)), "bfloat16"),
    ("mixture", Mixture, _floats((18, 16)), "bfloat16"),
    ("recommender", Recommender, _clicks, "dynamic"),
    ("molecule", Molecule, _molecule, "dynamic"),
    ("wave", Wave, _floats((2, 30)), "float16"),
    ("variational", Variational, _floats((7, 30)), "bfloat16"),
    ("coupling", Coupling, _floats((8, 6)), "float64"),
    ("queries", Queries, _with((2, 3, 16, 16), (2, 6, 4), whole=((5, (2, 6)),)), "dynamic"),
    ("contrasted", Contrasted, _with((4, 3, 16, 16), whole=((40, (4, 7)),)), "dynamic"),
    ("conformer", Conformer, _floats((2, 11, 16)), "bfloat16"),
    ("translator", Translator, _with(whole=((20, (3, 4)), (20, (3, 4)))), "bfloat16"),
    ("cached", Cached, _step, "bfloat16"),
    ("eights", Eights, _floats((10, 8)), "float16"),
)  # fmt: skip
_KIN: tuple[tuple[str, type[nn.Module], _Inputs, str], ...] = (
    ("pooler", Pooled, _floats((2, 4, 15, 13)), "dynamic"),
    ("routes", Routes, _floats((17, 12)), "bfloat16"),
    ("modulated", Modulated, _floats((2, 5, 12, 12), (2, 6)), "dynamic"),
)
_STEPS = {
    "lion": lion, "factored": factored, "lamb": lamb,
    "sm3": sm3, "signed": signed, "rowwise": sketched,
}  # fmt: skip


def programs() -> list[Program]:
    """Each used and trained as it is, and once more: with another dtype or dynamic shapes."""
    found = []
    for place, (name, kind, inputs, again) in enumerate((*_MODELS, *_KIN)):
        for train in (False, True):
            word = "train" if train else "infer"
            found.append(Program(f"family-{name}-{word}", _maker(kind, inputs, "", train)))
        train = place % 2 == 0
        word = "train" if train else "infer"
        found.append(Program(f"family-{name}-{again}-{word}", _maker(kind, inputs, again, train)))
    for name, step in _STEPS.items():
        for dtype in (torch.float32, torch.bfloat16):

            def cases(
                device: str,
                step: Callable[..., object] = step,
                dtype: torch.dtype = dtype,
            ) -> list[Case]:
                given = (torch.rand(24, 20, device=device).to(dtype) for _ in range(4))
                return [Case(step, tuple(given))]

            found.append(Program(f"family-{name}-{str(dtype)[6:]}", cases))
    return found


def _maker(
    kind: type[nn.Module], inputs: _Inputs, again: str, train: bool
) -> Callable[[str], list[Case]]:
    dtype = getattr(torch, again) if again not in ("", "dynamic") else torch.float32

    def make(device: str) -> list[Case]:
        given = tuple(x.to(dtype) if x.is_floating_point() else x for x in inputs(device))
        model = kind().to(device, dtype).train(train)
        return [Case(model, given, train=train, dynamic=True if again == "dynamic" else None)]

    return make
