# mypy: allow-subclassing-any
"""An operation that Inductor cannot lower: torch keeps `_foobar` for such tests."""

from typing import Any

import torch
from torch import nn


class Backend(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.model = nn.Sequential(*[nn.Linear(200, 200) for _ in range(5)])

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        z = x + y
        a = torch.ops.aten._foobar(z)
        return self.model(a)


def make(train: bool = False) -> tuple[Any, tuple[Any, ...]]:
    return Backend(), (torch.ones(200, 200), torch.ones(200, 200))
