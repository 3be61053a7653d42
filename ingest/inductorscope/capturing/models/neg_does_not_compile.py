"""The tutorial's compile error: `neg` loses its cast, and the C++ compiler rejects the kernel."""

from typing import Any

import torch

from inductorscope.capturing.faults import neg_does_not_compile


def foo1(x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
    a = torch.neg(x1)
    b = torch.maximum(x2, a)
    y = torch.cat([b], dim=0)
    return y


def make(train: bool = False) -> tuple[Any, tuple[Any, ...]]:
    neg_does_not_compile.install()
    x1 = torch.randint(256, (1, 8), dtype=torch.uint8)
    x2 = torch.randint(256, (8390, 8), dtype=torch.uint8)
    return foo1, (x1, x2)
