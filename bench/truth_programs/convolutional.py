# mypy: allow-subclassing-any
"""Convolutional networks, from plain to mobile, and diffusion-like U-Nets."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn

from bench.truth_programs.program import Case, Program


class Plain(nn.Module):
    """VGG-like: convolutions, pooling, dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Conv2d(3, 8, 3, padding=1)
        self.b = nn.Conv2d(8, 12, 3, padding=1)
        self.head = nn.Linear(12 * 16, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.max_pool2d(F.relu(self.a(x)), 2)
        x = F.max_pool2d(F.relu(self.b(x)), 2)
        return self.head(F.dropout(x.flatten(1), 0.3, self.training))


class Residual(nn.Module):
    """ResNet-like: batch norms around convolutions, sums, a global average."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.norm0 = nn.Conv2d(3, 12, 3, 2, 1, bias=False), nn.BatchNorm2d(12)
        self.a, self.norm1 = nn.Conv2d(12, 12, 3, 1, 1, bias=False), nn.BatchNorm2d(12)
        self.b, self.norm2 = nn.Conv2d(12, 24, 3, 2, 1, bias=False), nn.BatchNorm2d(24)
        self.skip = nn.Conv2d(12, 24, 1, 2)
        self.head = nn.Linear(24, 7)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.norm0(self.stem(x)))
        x = F.relu(x + self.norm1(self.a(x)))
        x = F.relu(self.skip(x) + self.norm2(self.b(x)))
        return F.log_softmax(self.head(F.adaptive_avg_pool2d(x, 1).flatten(1)), -1)


class Mobile(nn.Module):
    """MobileNet-like: depthwise convolutions, hard activations, squeeze and excite."""

    def __init__(self) -> None:
        super().__init__()
        self.expand, self.norm0 = nn.Conv2d(3, 16, 1, bias=False), nn.BatchNorm2d(16)
        self.depth = nn.Conv2d(16, 16, 5, 2, 2, groups=16, bias=False)
        self.norm1 = nn.BatchNorm2d(16)
        self.squeeze, self.excite = nn.Conv2d(16, 4, 1), nn.Conv2d(4, 16, 1)
        self.project, self.norm2 = nn.Conv2d(16, 8, 1, bias=False), nn.BatchNorm2d(8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.hardswish(self.norm0(self.expand(x)))
        x = F.relu6(self.norm1(self.depth(x)))
        scale = F.relu(self.squeeze(x.mean((2, 3), keepdim=True)))
        x = x * F.hardsigmoid(self.excite(scale))
        return self.norm2(self.project(x)).amax((2, 3))


class Dense(nn.Module):
    """DenseNet-like: concatenations feed the next layers."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.BatchNorm2d(6 + 4 * i) for i in range(3))
        self.convs = nn.ModuleList(nn.Conv2d(6 + 4 * i, 4, 3, padding=1) for i in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for norm, conv in zip(self.norms, self.convs, strict=True):
            x = torch.cat([x, conv(F.elu(norm(x)))], 1)
        return F.avg_pool2d(x, 3, 2, 1).mean((2, 3))


class Separable(nn.Module):
    """ConvNeXt-like: layer norm over channels, scale, stochastic depth."""

    def __init__(self) -> None:
        super().__init__()
        self.depth = nn.Conv2d(12, 12, 7, padding=3, groups=12)
        self.norm = nn.LayerNorm(12)
        self.up, self.down = nn.Linear(12, 48), nn.Linear(48, 12)
        self.scale = nn.Parameter(torch.full((12,), 0.1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(self.depth(x).permute(0, 2, 3, 1))
        y = self.down(F.gelu(self.up(y))) * self.scale
        keep = (torch.rand(x.shape[0], 1, 1, 1, device=x.device) < 0.9).to(x.dtype)
        return x + y.permute(0, 3, 1, 2) * keep


class Shuffle(nn.Module):
    """ShuffleNet-like: channels split, shuffled and joined."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(8, 8, 3, padding=1, groups=4), nn.GroupNorm(2, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        left, right = x.chunk(2, 1)
        y = torch.cat([left, F.leaky_relu(self.norm(self.conv(right)), 0.1)], 1)
        return F.channel_shuffle(y, 4)


class Sequence(nn.Module):
    """A one-dimensional network over time: dilation, gates, strides."""

    def __init__(self) -> None:
        super().__init__()
        self.convs = nn.ModuleList(
            nn.Conv1d(10, 20, 3, padding=2**i, dilation=2**i) for i in range(3)
        )
        self.out = nn.Conv1d(10, 5, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        total = torch.zeros_like(x)
        for conv in self.convs:
            value, gate = conv(x).chunk(2, 1)
            y = torch.tanh(value) * torch.sigmoid(gate)
            x, total = x + y, total + y
        return F.max_pool1d(self.out(F.prelu(total, x.new_full((1,), 0.2))), 2)


class UNet(nn.Module):
    """A denoiser: time embedding, group norms, attention, resizing, skips."""

    def __init__(self, mode: str) -> None:
        super().__init__()
        self.mode = mode
        self.time = nn.Sequential(nn.Linear(16, 24), nn.SiLU(), nn.Linear(24, 8))
        self.into = nn.Conv2d(3, 8, 3, padding=1)
        self.down = nn.Conv2d(8, 8, 3, 2, 1)
        self.norm, self.mid_norm = nn.GroupNorm(4, 8), nn.GroupNorm(2, 8)
        self.qkv, self.proj = nn.Conv2d(8, 24, 1), nn.Conv2d(8, 8, 1)
        self.up = nn.Conv2d(16, 8, 3, padding=1)
        self.out = nn.Conv2d(8, 3, 3, padding=1)

    def forward(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        frequency = torch.exp(-math.log(1000.0) * torch.arange(8, device=x.device) / 8)
        angle = t[:, None].float() * frequency[None]
        time = self.time(torch.cat([angle.sin(), angle.cos()], -1))
        first = self.into(x) + time[:, :, None, None]
        h = self.down(F.silu(self.norm(first)))
        b, c, height, width = h.shape
        q, k, v = self.qkv(self.mid_norm(h)).reshape(b, 3, c, height * width).unbind(1)
        weights = torch.softmax(q.transpose(1, 2) @ k / math.sqrt(c), -1)
        h = h + self.proj((v @ weights.transpose(1, 2)).reshape(b, c, height, width))
        h = F.interpolate(h, scale_factor=2, mode=self.mode)
        return self.out(F.silu(self.up(torch.cat([h, first], 1))))


def _diffusion_loss(model: UNet) -> Callable[..., torch.Tensor]:
    def loss(x: torch.Tensor, t: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
        level = torch.cos(t.float() / 1000 * math.pi / 2)[:, None, None, None]
        noisy = level * x + (1 - level**2).clamp_min(1e-4).sqrt() * noise
        return F.mse_loss(model(noisy, t), noise)

    return loss


def programs() -> list[Program]:
    found = []
    for name, kind, shape, channels_last, dtype in (
        ("conv-plain", Plain, (2, 3, 16, 16), False, None),
        ("conv-residual", Residual, (4, 3, 32, 32), False, None),
        ("conv-residual-channels-last", Residual, (4, 3, 32, 32), True, None),
        ("conv-residual-bf16", Residual, (4, 3, 32, 32), False, torch.bfloat16),
        ("conv-mobile", Mobile, (2, 3, 24, 24), False, None),
        ("conv-dense", Dense, (2, 6, 15, 15), False, None),
        ("conv-separable", Separable, (2, 12, 14, 14), False, None),
        ("conv-separable-f64", Separable, (2, 12, 14, 14), False, torch.float64),
        ("conv-shuffle", Shuffle, (2, 16, 9, 9), False, None),
        ("conv-sequence", Sequence, (3, 10, 40), False, None),
    ):
        for train in (False, True):

            def cases(
                device: str,
                kind: type[nn.Module] = kind,
                shape: tuple[int, ...] = shape,
                channels_last: bool = channels_last,
                dtype: torch.dtype | None = dtype,
                train: bool = train,
            ) -> list[Case]:
                model, x = kind().to(device, dtype).train(train), torch.randn(shape, device=device)
                x = x.to(dtype) if dtype else x
                if channels_last:
                    model = model.to(memory_format=torch.channels_last)
                    x = x.to(memory_format=torch.channels_last)
                return [Case(model, (x,), train=train)]

            found.append(Program(f"{name}-{'train' if train else 'infer'}", cases))
    for mode in ("nearest", "bilinear"):
        for train in (False, True):

            def unet_cases(device: str, mode: str = mode, train: bool = train) -> list[Case]:
                model = UNet(mode).to(device).train(train)
                x, noise = (torch.randn(2, 3, 16, 16, device=device) for _ in range(2))
                t = torch.randint(0, 1000, (2,), device=device)
                if train:
                    return [Case(_diffusion_loss(model), (x, t, noise), train=True)]
                return [Case(model, (x, t))]

            found.append(Program(f"unet-{mode}-{'train' if train else 'infer'}", unet_cases))
    return found
