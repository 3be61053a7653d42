"""The tutorial's accuracy problem: `neg` doubles, so eager and compiled give different numbers."""

from typing import Any

import torch

from inductorscope.capturing.faults import neg_doubles


def foo2(x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
    a = torch.neg(x1)
    b = torch.maximum(x2, a)
    y = torch.cat([b], dim=0)
    return y


def make(train: bool = False) -> tuple[Any, tuple[Any, ...]]:
    neg_doubles.install()
    x1 = torch.randn((1, 8), dtype=torch.float32)
    x2 = torch.randn((8390, 8), dtype=torch.float32)
    return foo2, (x1, x2)
