# mypy: allow-subclassing-any
"""A small convolutional network: convolution, batch norm and SiLU, with one residual block."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn


def layer(inputs: int, outputs: int, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False),
        nn.BatchNorm2d(outputs),
        nn.SiLU(),
    )


class ConvNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = layer(3, 16, stride=2)
        self.widen = layer(16, 32, stride=2)
        self.residual = layer(32, 32)
        self.classify = nn.Linear(32, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = self.widen(self.stem(images))
        x = x + self.residual(x)
        pooled = x.mean((2, 3))
        return F.log_softmax(self.classify(pooled), dim=-1)


class WithLoss(nn.Module):
    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return F.nll_loss(self.model(images), labels)


def make(train: bool = False) -> tuple[Any, tuple[Any, ...]]:
    images = torch.randn(8, 3, 64, 64)
    if train:
        return WithLoss(ConvNet()), (images, torch.randint(10, (8,)))
    return ConvNet(), (images,)
