# mypy: allow-subclassing-any
"""Blocks of today's models: attention, gates, patches, detection, embeddings of time."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn

from bench.truth_programs.program import Case, Program


class Decoder(nn.Module):
    """Rotary attention over grouped heads, RMS norms and a SwiGLU, from tokens to a loss."""

    def __init__(self, width: int = 32, heads: int = 4) -> None:
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.embed = nn.Embedding(61, width)
        self.norms = nn.ParameterList(torch.ones(width) for _ in range(3))
        self.q, self.kv = nn.Linear(width, width, False), nn.Linear(width, width, False)
        self.out = nn.Linear(width, width, False)
        self.gate, self.up = nn.Linear(width, 48, False), nn.Linear(width, 48, False)
        self.down, self.head = nn.Linear(48, width, False), nn.Linear(width, 61, False)

    def normed(self, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        y = x.float()
        return weight * (y * torch.rsqrt(y.square().mean(-1, keepdim=True) + 1e-6)).to(x.dtype)

    def rotated(self, x: torch.Tensor) -> torch.Tensor:
        half = self.size // 2
        rates = 1 / 100 ** (torch.arange(half, device=x.device).float() / half)
        angle = torch.arange(x.shape[2], device=x.device).float()[:, None] * rates
        cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        left, right = x[..., :half], x[..., half:]
        return torch.cat([left * cos - right * sin, right * cos + left * sin], -1)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens)
        b, t, _ = x.shape
        y = self.normed(x, self.norms[0])
        q = self.q(y).view(b, t, self.heads, self.size).transpose(1, 2)
        k, v = self.kv(y).view(b, t, 2, self.heads // 2, self.size).permute(2, 0, 3, 1, 4)
        q, k = self.rotated(q), self.rotated(k)
        k, v = k.repeat_interleave(2, 1), v.repeat_interleave(2, 1)
        scores = q @ k.transpose(-1, -2) / math.sqrt(self.size)
        ahead = torch.ones(t, t, dtype=torch.bool, device=x.device).triu(1)
        weights = scores.masked_fill(ahead, float("-inf")).float().softmax(-1).to(x.dtype)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(b, t, -1))
        y = self.normed(x, self.norms[1])
        x = x + self.down(F.silu(self.gate(y)) * self.up(y))
        logits = self.head(self.normed(x, self.norms[2]))
        return F.cross_entropy(logits[:, :-1].flatten(0, 1).float(), tokens[:, 1:].flatten())


class Patches(nn.Module):
    """A vision transformer's block: patches, a class token, positions, attention, an MLP."""

    def __init__(self, width: int = 24) -> None:
        super().__init__()
        self.patch = nn.Conv2d(3, width, 4, 4)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.position = nn.Parameter(torch.randn(1, 17, width) * 0.02)
        self.one, self.two = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.position
        b, n, c = x.shape
        q, k, v = self.qkv(self.one(x)).reshape(b, n, 3, 3, c // 3).permute(2, 0, 3, 1, 4)
        y = torch.softmax(q @ k.transpose(-2, -1) * (c // 3) ** -0.5, -1) @ v
        x = x + F.dropout(self.out(y.transpose(1, 2).reshape(b, n, c)), 0.1, self.training)
        x = x + self.down(F.gelu(self.up(self.two(x)), approximate="tanh"))
        return F.normalize(x[:, 0], dim=-1)


class Inverted(nn.Module):
    """EfficientNet-like: expand, depthwise, squeeze and excite, project, drop whole paths."""

    def __init__(self) -> None:
        super().__init__()
        self.expand, self.norm0 = nn.Conv2d(8, 24, 1, bias=False), nn.BatchNorm2d(24)
        self.depth = nn.Conv2d(24, 24, 3, 1, 1, groups=24, bias=False)
        self.norm1 = nn.BatchNorm2d(24)
        self.squeeze, self.excite = nn.Conv2d(24, 4, 1), nn.Conv2d(4, 24, 1)
        self.project, self.norm2 = nn.Conv2d(24, 8, 1, bias=False), nn.BatchNorm2d(8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.silu(self.norm0(self.expand(x)))
        y = F.silu(self.norm1(self.depth(y)))
        y = y * torch.sigmoid(self.excite(F.silu(self.squeeze(F.adaptive_avg_pool2d(y, 1)))))
        y = self.norm2(self.project(y))
        if self.training:
            y = y * torch.bernoulli(torch.full((x.shape[0], 1, 1, 1), 0.8, device=x.device)) / 0.8
        return F.adaptive_avg_pool2d(F.pad(x + y, (1, 2, 0, 1), mode="reflect"), 3)


class Pyramid(nn.Module):
    """Feature pyramid: pooling with indices, resizing, unpooling, sums of scales."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Conv2d(4, 8, 3, 1, 1), nn.Conv2d(8, 8, 3, 2, 1)
        self.side, self.norm = nn.Conv2d(8, 8, 1), nn.InstanceNorm2d(8, affine=True)
        self.head = nn.Conv2d(8, 2, 3, 1, 1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        fine = F.relu(self.norm(self.a(x)))
        coarse = F.relu(self.b(fine))
        pooled, places = F.max_pool2d(coarse, 3, 2, 1, return_indices=True)
        up = F.interpolate(pooled, size=coarse.shape[-2:], mode="bilinear", align_corners=True)
        middle = self.side(coarse) + up
        out = F.interpolate(middle, scale_factor=2, mode="nearest") + fine
        return F.pixel_shuffle(self.head(out).repeat(1, 4, 1, 1), 2), places % 7


class Denoiser(nn.Module):
    """Time embedding into scale and shift, group norm, resize, join, in one step of a U-Net."""

    def __init__(self) -> None:
        super().__init__()
        self.time = nn.Linear(12, 16)
        self.into, self.down = nn.Conv2d(3, 8, 3, 1, 1), nn.Conv2d(8, 16, 4, 2, 1)
        self.one, self.two = nn.GroupNorm(4, 8), nn.GroupNorm(4, 24)
        self.out = nn.Conv2d(24, 3, 3, 1, 1)

    def forward(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        rates = torch.exp(torch.arange(6, device=x.device) * (-math.log(10000) / 5))
        angle = t.to(x.dtype)[:, None] * rates.to(x.dtype)
        scale, shift = self.time(torch.cat([angle.sin(), angle.cos()], 1)).chunk(2, 1)
        first = self.into(x)
        y = self.one(first) * (1 + scale[:, :, None, None]) + shift[:, :, None, None]
        y = self.down(F.silu(y))
        y = F.interpolate(y, scale_factor=2.0, mode="nearest")
        return self.out(F.silu(self.two(torch.cat([y, first], 1))))


class Experts(nn.Module):
    """Each token goes to two of four experts, weighted by a softmax of its scores."""

    def __init__(self) -> None:
        super().__init__()
        self.router = nn.Linear(16, 4)
        self.up = nn.Parameter(torch.randn(4, 16, 24) * 0.1)
        self.down = nn.Parameter(torch.randn(4, 24, 16) * 0.1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores, chosen = torch.topk(self.router(x), 2, -1)
        weights = torch.zeros_like(x[:, :4]).scatter(1, chosen, scores.softmax(-1))
        every = torch.einsum("neh,ehd->ned", F.gelu(torch.einsum("nd,edh->neh", x, self.up)),
                             self.down)  # fmt: skip
        load = F.one_hot(chosen, 4).to(x.dtype).mean((0, 1))
        return (every * weights[..., None]).sum(1) + (load * load).sum()


class Gates(nn.Module):
    """An LSTM and a GRU written out, with peepholes and a zone-out."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.gru = nn.Linear(20, 48), nn.Linear(24, 24)
        self.new = nn.Linear(24, 12)
        self.peep = nn.Parameter(torch.randn(3, 12) * 0.1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = c = x.new_zeros(x.shape[0], 12)
        g = h + 0.1
        for step in range(x.shape[1]):
            i, f, o, n = self.lstm(torch.cat([x[:, step], h], -1)).chunk(4, -1)
            c = torch.sigmoid(f + self.peep[0] * c) * c + torch.sigmoid(
                i + self.peep[1] * c
            ) * torch.tanh(n)
            h = torch.sigmoid(o + self.peep[2] * c) * torch.tanh(c)
            update, reset = torch.sigmoid(self.gru(torch.cat([h, g], -1))).chunk(2, -1)
            g = torch.lerp(g, torch.tanh(self.new(torch.cat([h, reset * g], -1))), update)
        return h + g


_Inputs = Callable[[str], tuple[torch.Tensor, ...]]


def _images(*shape: int) -> _Inputs:
    return lambda device: (torch.randn(shape, device=device),)


def _tokens(device: str) -> tuple[torch.Tensor, ...]:
    return (torch.randint(0, 61, (2, 13), device=device),)


def _timed(device: str) -> tuple[torch.Tensor, ...]:
    return torch.randn(2, 3, 16, 16, device=device), torch.randint(0, 1000, (2,), device=device)


_BLOCKS: tuple[tuple[str, type[nn.Module], _Inputs, torch.dtype | None, bool | None], ...] = (
    ("decoder-bf16", Decoder, _tokens, torch.bfloat16, None),
    ("decoder-f16", Decoder, _tokens, torch.float16, None),
    ("decoder-dynamic", Decoder, _tokens, None, True),
    ("patches", Patches, _images(2, 3, 16, 16), None, None),
    ("patches-bf16", Patches, _images(2, 3, 16, 16), torch.bfloat16, None),
    ("inverted", Inverted, _images(2, 8, 12, 12), None, None),
    ("inverted-f64", Inverted, _images(2, 8, 12, 12), torch.float64, None),
    ("pyramid", Pyramid, _images(2, 4, 16, 16), None, None),
    ("denoiser", Denoiser, _timed, None, None),
    ("denoiser-bf16", Denoiser, _timed, torch.bfloat16, None),
    ("experts", Experts, _images(21, 16), None, None),
    ("experts-dynamic", Experts, _images(21, 16), None, True),
    ("gates", Gates, _images(3, 3, 8), None, None),
)


def programs() -> list[Program]:
    found = []
    for name, kind, inputs, dtype, dynamic in _BLOCKS:
        for train in (False, True):

            def cases(
                device: str,
                kind: type[nn.Module] = kind,
                inputs: _Inputs = inputs,
                dtype: torch.dtype | None = dtype,
                dynamic: bool | None = dynamic,
                train: bool = train,
            ) -> list[Case]:
                given = tuple(
                    x.to(dtype) if dtype is not None and x.is_floating_point() else x
                    for x in inputs(device)
                )
                model = kind().to(device, dtype).train(train)
                return [Case(model, given, train=train, dynamic=dynamic)]

            found.append(Program(f"block-{name}-{'train' if train else 'infer'}", cases))
    return found
