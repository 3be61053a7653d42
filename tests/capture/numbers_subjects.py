"""Small programs to search in: parts of a GPT and of a conv net, and one that does not lower."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn


class Mlp(nn.Module):  # type: ignore[misc, unused-ignore]
    """Layer norm, GELU, and a loss when training."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(32)
        self.up = nn.Linear(32, 48)
        self.head = nn.Linear(48, 20)

    def forward(self, x: torch.Tensor, targets: torch.Tensor | None = None) -> torch.Tensor:
        logits = self.head(F.gelu(self.up(self.norm(x))))
        return logits if targets is None else F.cross_entropy(logits, targets)


class Conv(nn.Module):  # type: ignore[misc, unused-ignore]
    """Batch norm, SiLU, max-pool, mean and log-softmax."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, 1, 1, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.classify = nn.Linear(8, 5)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = F.max_pool2d(F.silu(self.norm(self.conv(images))), 2)
        return F.log_softmax(self.classify(x.mean((2, 3))), dim=-1)


def mlp(train: bool = False) -> tuple[Any, tuple[Any, ...]]:
    x = torch.randn(24, 32)
    return Mlp(), (x, torch.randint(20, (24,))) if train else (x,)


def conv() -> tuple[Any, tuple[Any, ...]]:
    return Conv(), (torch.randn(4, 3, 16, 16),)


class Dropping(nn.Module):  # type: ignore[misc, unused-ignore]
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.dropout(torch.sin(x), 0.5, training=True) + torch.rand_like(x)


def dropping() -> tuple[Any, tuple[Any, ...]]:
    return Dropping(), (torch.randn(64, 8),)


def cat_and_index() -> tuple[Any, tuple[Any, ...]]:
    """Written in pieces, and in place."""

    def program(x: torch.Tensor, at: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        both = torch.cat([torch.sin(x), torch.cos(x) * 2], dim=1)
        scattered = torch.zeros(20, 16).index_add(0, at, both)
        return both @ both.T, scattered.relu()

    return program, (torch.randn(10, 8), torch.randint(20, (10,)))


def without_lowering() -> tuple[Any, tuple[Any, ...]]:
    """Torch keeps `_foobar` for showing what an operator without a lowering looks like."""

    def program(x: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten._foobar(x + 1).tanh().sin().cos().exp()

    return program, (torch.ones(8, 8),)
