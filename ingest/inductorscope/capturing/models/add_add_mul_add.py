"""A chain of pointwise operations, as between the linear layers of MobileBERT.

Memory-bound: eager reads and writes the large tensor four times, the fused loop once.
"""

from typing import Any

import torch


def add_add_mul_add(
    hidden: torch.Tensor,
    bias: torch.Tensor,
    residual: torch.Tensor,
    scale: torch.Tensor,
    shift: torch.Tensor,
) -> torch.Tensor:
    biased = hidden + bias
    summed = biased + residual
    scaled = summed * scale
    shifted = scaled + shift
    return shifted


def make(train: bool = False) -> tuple[Any, tuple[Any, ...]]:
    hidden = torch.rand(16384, 512)
    bias = torch.rand(1, 512)
    residual = torch.zeros(16384, 512)
    scale = torch.rand(1, 512)
    shift = torch.rand(1, 512)
    return add_add_mul_add, (hidden, bias, residual, scale, shift)
