"""Programs with subgraphs: nested regions, branches and loops, one inside another too."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn
from torch._higher_order_ops.while_loop import while_loop
from torch.compiler import nested_compile_region

from bench.truth_programs.program import Case, Program


class Normed(nn.Module):  # type: ignore[misc]  # torch is untyped
    """A normed, gated layer with a residual."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.into, self.out = (
            nn.LayerNorm(width),
            nn.Linear(width, width),
            nn.Linear(width, width),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.out(F.silu(self.into(self.norm(x))) * x.mean(-1, keepdim=True))


class Attended(nn.Module):  # type: ignore[misc]  # torch is untyped
    """Attention over a short sequence, with a mask that the block computes."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.made = nn.Linear(width, 3 * width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        query, key, value = self.made(x).chunk(3, -1)
        places = torch.arange(x.shape[-2], device=x.device)
        scores = (query @ key.transpose(-1, -2)) / 8
        scores = scores.masked_fill(places[None] > places[:, None], -1e4)
        return x + scores.softmax(-1) @ value


class Stack(nn.Module):  # type: ignore[misc]  # torch is untyped
    """Blocks of one or several kinds, each kind a region."""

    def __init__(self, kinds: list[type[nn.Module]], width: int, deep: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(kind(width) for _ in range(deep) for kind in kinds)
        self.regions = {kind: nested_compile_region(kind.forward) for kind in kinds}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.tanh(x) * 2
        for block in self.blocks:
            x = self.regions[type(block)](block, x)
        return x.logsumexp(-1)


def branched(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    found = torch.cond(
        (x * y).sum() > 0,
        lambda a, b: (a * b).relu().cumsum(-1) + b.amax(-1, keepdim=True),
        lambda a, b: (a - b).exp().mean(-1, keepdim=True).expand_as(a) * torch.sigmoid(a),
        (x, y),
    )
    return F.gelu(found).std(-1)


def branched_twice(x: torch.Tensor) -> torch.Tensor:
    def inner(a: torch.Tensor) -> torch.Tensor:
        return torch.cond(a.amax() > 1, lambda b: b.tanh() + 1, lambda b: b.sin() * b, (a,))

    return torch.cond(x.mean() > 0, lambda a: inner(a * 2).softmax(-1), lambda a: a.cos() / 3, (x,))


def looped(x: torch.Tensor) -> torch.Tensor:
    def going(i: torch.Tensor, a: torch.Tensor) -> torch.Tensor:
        return (i < 4) & (a.norm() < 1e4)

    def step(i: torch.Tensor, a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return i + 1, torch.relu(a) * 1.5 + a.mean(-1, keepdim=True)

    _, found = while_loop(going, step, (torch.zeros((), dtype=torch.int64, device=x.device), x))
    return found.square().sum(-1)


def region_and_branch(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    @nested_compile_region  # type: ignore[untyped-decorator]  # torch is untyped
    def piece(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(a * b.sigmoid(), (a.shape[-1],)) + b

    x = piece(piece(x, y), y)
    x = torch.cond(x.sum() > 0, lambda a: a.erf(), lambda a: a.abs().sqrt(), (x,))
    return piece(x, y).prod(-1)


def _stack(kinds: list[type[nn.Module]], deep: int) -> Callable[[str], Stack]:
    return lambda device: Stack(kinds, 48, deep).to(device)


def programs() -> list[Program]:
    found: list[Program] = []
    stacks = {"normed": _stack([Normed], 4), "mixed": _stack([Normed, Attended], 3)}
    for name, model in stacks.items():
        for way in ("infer", "train", "dynamic"):

            def cases(
                device: str, model: Callable[[str], Stack] = model, way: str = way
            ) -> list[Case]:
                x = torch.randn(5, 24, 48, device=device, requires_grad=way == "train")
                if way == "dynamic":
                    torch._dynamo.mark_dynamic(x, 0)
                return [Case(model(device), (x,), train=way == "train")]

            found.append(Program(f"region-{name}-{way}", cases))
    functions: dict[str, tuple[Callable[..., object], int]] = {
        "branched": (branched, 2), "branched-twice": (branched_twice, 1), "looped": (looped, 1),
        "region-and-branch": (region_and_branch, 2),
    }  # fmt: skip
    for name, (function, count) in functions.items():

        def one(
            device: str, function: Callable[..., object] = function, count: int = count
        ) -> list[Case]:
            return [Case(function, tuple(torch.randn(6, 72, device=device) for _ in range(count)))]

        found.append(Program(f"region-{name}", one))
    return found
