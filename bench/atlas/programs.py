"""Small programs with what many models have: factories of a function or model, with arguments."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Program = tuple[Callable[..., Any], tuple[Tensor, ...]]


def softmax() -> Program:
    """Softmax of scaled scores, with a mask."""

    def scores(x: Tensor, mask: Tensor) -> Tensor:
        return torch.softmax(x * 0.125 + mask, dim=-1)

    return scores, (torch.randn(8, 256, 512), torch.randn(256, 512))


def block() -> Program:
    """Layer norm, a product, GELU and what is added to it."""

    def layers(x: Tensor, weight: Tensor) -> Tensor:
        h = F.layer_norm(x, (64,))
        h = F.gelu(h @ weight)
        return x + h * 0.5

    return layers, (torch.randn(512, 64), torch.randn(64, 64))


def turned(x: Tensor, angle: Tensor) -> Tensor:
    """Returns rotated halves."""
    one, other = x.chunk(2, dim=-1)
    cos, sin = angle.cos(), angle.sin()
    return torch.cat((one * cos - other * sin, other * cos + one * sin), -1)


class Attention(nn.Module):  # type: ignore[misc]  # torch is untyped
    """Attention written out, with rotary positions and RMS norm."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.RMSNorm(128)
        self.qkv = nn.Linear(128, 384, bias=False)
        self.out = nn.Linear(128, 128, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm(x)).view(batch, length, 3, 4, 32).permute(2, 0, 3, 1, 4)
        at = torch.arange(length, device=x.device)[:, None]
        angle = at * torch.linspace(1, 0.01, 16, device=x.device)
        q, k = turned(q, angle), turned(k, angle)
        weights = torch.softmax(q @ k.transpose(-1, -2) * 32**-0.5, dim=-1)
        return x + self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))


def attention() -> Program:
    return Attention(), (torch.randn(2, 64, 128),)


def convolutions() -> Program:
    """Two convolutions with batch norm, ReLU and pooling."""
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
    ).eval(), (torch.randn(2, 3, 32, 32),)  # fmt: skip


class Classifier(nn.Module):  # type: ignore[misc]  # torch is untyped
    """An embedding, two layers and a loss."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(1000, 64)
        self.layers = nn.Sequential(
            nn.Linear(64, 128), nn.SiLU(), nn.LayerNorm(128), nn.Linear(128, 50)
        )

    def forward(self, words: Tensor, labels: Tensor) -> Tensor:
        return F.cross_entropy(self.layers(self.embedding(words).mean(1)), labels)


def loss() -> Program:
    return Classifier(), (torch.randint(1000, (32, 20)), torch.randint(50, (32,)))


def statistics() -> Program:
    """Reductions over two axes, and what reads them."""

    def normal(x: Tensor) -> tuple[Tensor, ...]:
        centred = x - x.mean(dim=(0, 2), keepdim=True)
        spread = centred.std(dim=(0, 2), keepdim=True)
        return centred / (spread + 1e-5), x.amax(dim=0), x.var(dim=2)

    return normal, (torch.randn(64, 32, 128),)


def indices() -> Program:
    """Gathers, scatters, a running sum and a sort."""

    def gathered(x: Tensor, at: Tensor) -> tuple[Tensor, ...]:
        rows = x[at]
        counts = torch.zeros(x.shape[0], device=x.device).scatter_add(0, at, rows.sum(1))
        return rows.cumsum(1), torch.sort(counts).values, torch.topk(x, 4).indices

    return gathered, (torch.randn(100, 64), torch.randint(100, (300,)))


def mixed() -> Program:
    """Conversions between dtypes and layouts."""

    def converted(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        half = (x.to(torch.bfloat16) * y.to(torch.bfloat16)).transpose(1, 2).contiguous()
        return half.float().sum(-1), torch.cat([x, y.flip(2)], dim=2).clamp(-1, 1)

    return converted, (torch.randn(4, 64, 96), torch.randn(4, 64, 96))


def broken() -> Program:
    """A graph break."""

    def halves(x: Tensor) -> Tensor:
        y = x.sin() * 2
        torch._dynamo.graph_break()
        return (y + 1).relu()

    return halves, (torch.randn(64, 64),)
