"""Copies of tensors."""

import torch

from inductorscope.capturing.inside.untyped import Untyped


def copied(value: Untyped) -> Untyped:
    """Copies a tensor with its strides, even if elements overlap; returns others unchanged."""
    if not isinstance(value, torch.Tensor):
        return value
    value = value.detach()
    if value.layout != torch.strided or value.numel() == 0:
        return value.clone()
    sizes = zip(value.shape, value.stride(), strict=True)
    extent = 1 + sum((size - 1) * step for size, step in sizes)
    whole = torch.as_strided(value, (extent,), (1,)).clone()
    return torch.as_strided(whole, value.shape, value.stride(), 0)
