# mypy: allow-subclassing-any
"""Whole models that look at pictures, points and waves, written to judge the engine."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn


class ConvNext(nn.Module):
    """Patchified stem, depthwise convolutions in channels-first norms, response norms."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.down = nn.Conv2d(3, 8, 4, 4), nn.Conv2d(8, 16, 2, 2)
        self.depth = nn.ModuleList(nn.Conv2d(c, c, 7, padding=3, groups=c) for c in (8, 16))
        self.norm = nn.ModuleList(nn.LayerNorm(c) for c in (8, 16))
        self.up = nn.ModuleList(nn.Linear(c, 4 * c) for c in (8, 16))
        self.back = nn.ModuleList(nn.Linear(4 * c, c) for c in (8, 16))
        self.beta = nn.ParameterList(torch.zeros(4 * c) for c in (8, 16))
        self.scale, self.head = nn.Parameter(torch.ones(8, 1, 1)), nn.Linear(16, 6)

    def block(self, x: torch.Tensor, i: int) -> torch.Tensor:
        y = F.gelu(self.up[i](self.norm[i](self.depth[i](x).permute(0, 2, 3, 1))))
        size = torch.norm(y, p=2, dim=(1, 2), keepdim=True)
        y = self.beta[i] * (y * (size / (size.mean(-1, keepdim=True) + 1e-6))) + y
        return x + self.back[i](y).permute(0, 3, 1, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        middle = x.mean(1, keepdim=True)
        x = self.scale * (x - middle) / torch.sqrt((x - middle).pow(2).mean(1, True) + 1e-6)
        x = self.block(self.down(self.block(x, 0)), 1)
        return self.head(F.layer_norm(x.mean([-2, -1]), (16,)))


class Shifted(nn.Module):
    """Attention in windows, the second time shifted, with a bias by distance and a mask."""

    def __init__(self, size: int = 4, width: int = 16) -> None:
        super().__init__()
        self.size, self.embed = size, nn.Conv2d(3, width, 2, 2)
        self.qkv = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(2))
        self.out = nn.ModuleList(nn.Linear(width, width) for _ in range(2))
        self.norm = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.table = nn.Parameter(torch.randn((2 * size - 1) ** 2, 2) * 0.02)
        self.merge = nn.Linear(4 * width, 2 * width, bias=False)
        at = torch.stack(torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij"))
        apart = at.flatten(1)[:, :, None] - at.flatten(1)[:, None] + size - 1
        self.register_buffer("apart", apart[0] * (2 * size - 1) + apart[1])

    def attended(self, x: torch.Tensor, i: int) -> torch.Tensor:
        b, h, w, c = x.shape
        s, shift = self.size, (self.size // 2) * i
        x = torch.roll(x, (-shift, -shift), (1, 2)) if shift else x
        x = x.view(b, h // s, s, w // s, s, c).transpose(2, 3).reshape(-1, s * s, c)
        q, k, v = self.qkv[i](x).view(-1, s * s, 3, 2, c // 2).permute(2, 0, 3, 1, 4).unbind(0)
        scores = (q * (c // 2) ** -0.5) @ k.transpose(-2, -1)
        scores = scores + self.table[self.apart.view(-1)].view(s * s, s * s, 2).permute(2, 0, 1)
        if shift:
            part = torch.zeros(h, w, device=x.device, dtype=x.dtype)
            part[-shift:] += 1
            part[:, -shift:] += 2
            part = part.view(h // s, s, w // s, s).transpose(1, 2).reshape(-1, s * s)
            apart = (part[:, None] != part[:, :, None]).to(x.dtype) * -100.0
            many = apart.shape[0]
            scores = scores.view(-1, many, 2, s * s, s * s) + apart[None, :, None]
            scores = scores.view(-1, 2, s * s, s * s)
        y = self.out[i]((scores.softmax(-1) @ v).transpose(1, 2).reshape(-1, s * s, c))
        y = y.view(b, h // s, w // s, s, s, c).transpose(2, 3).reshape(b, h, w, c)
        return torch.roll(y, (shift, shift), (1, 2)) if shift else y

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.embed(x).permute(0, 2, 3, 1).contiguous()
        for i in range(2):
            x = x + self.attended(self.norm[i](x), i)
        corners = [x[:, r::2, c::2] for c in (0, 1) for r in (0, 1)]
        return self.merge(torch.cat(corners, -1)).mean((1, 2))


class Mixer(nn.Module):
    """Linear layers over patches, then over channels."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 12, 4, 4)
        self.norms = nn.ModuleList(nn.LayerNorm(12) for _ in range(5))
        self.over = nn.ModuleList(
            nn.Sequential(nn.Linear(n, 20), nn.GELU(), nn.Dropout(0.1), nn.Linear(20, n))
            for n in (16, 12, 16, 12)
        )
        self.head = nn.Linear(12, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x).flatten(2).transpose(1, 2)
        for i in (0, 2):
            x = x + self.over[i](self.norms[i](x).transpose(1, 2)).transpose(1, 2)
            x = x + self.over[i + 1](self.norms[i + 1](x))
        return self.head(self.norms[4](x).mean(1))


class Registers(nn.Module):
    """A vision transformer with a class token, registers, layer scales, resized positions."""

    def __init__(self, width: int = 24) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, width, 4, 4)
        self.first = nn.Parameter(torch.randn(1, 1, width))
        self.registers = nn.Parameter(torch.randn(1, 3, width))
        self.place = nn.Parameter(torch.randn(1, width, 3, 3))
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width, eps=1e-6) for _ in range(3))
        self.scales = nn.ParameterList(torch.full((width,), 1e-2) for _ in range(2))
        self.gate, self.back = nn.Linear(width, 64), nn.Linear(32, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        place = F.interpolate(self.place, size=x.shape[-2:], mode="bicubic", antialias=False)
        x = (x + place).flatten(2).transpose(1, 2)
        b = x.shape[0]
        x = torch.cat([self.first.expand(b, -1, -1), self.registers.expand(b, -1, -1), x], 1)
        q, k, v = self.qkv(self.norms[0](x)).unflatten(-1, (3, 4, -1)).permute(2, 0, 3, 1, 4)
        q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        x = x + self.scales[0] * self.out(y)
        gate, y = self.gate(self.norms[1](x)).chunk(2, -1)
        x = x + self.scales[1] * self.back(F.silu(gate) * y)
        x = self.norms[2](x)
        return torch.cat([x[:, 0], x[:, 4:].mean(1)], -1)


class Cardinal(nn.Module):
    """Grouped bottlenecks with squeeze and excite, batch norms, a max pool in the stem."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, 16, 7, 2, 3, bias=False), nn.BatchNorm2d(16)
        self.one, self.norm1 = nn.Conv2d(16, 16, 1, bias=False), nn.BatchNorm2d(16)
        self.two, self.norm2 = nn.Conv2d(16, 16, 3, 2, 1, 1, 4, False), nn.BatchNorm2d(16)
        self.three, self.norm3 = nn.Conv2d(16, 32, 1, bias=False), nn.BatchNorm2d(32)
        self.squeeze, self.excite = nn.Linear(32, 4), nn.Linear(4, 32)
        self.skip, self.head = nn.Conv2d(16, 32, 1, bias=False), nn.Linear(32, 9)

    def forward(self, x: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        x = F.max_pool2d(F.relu(self.norm(self.stem(x)), inplace=True), 3, 2, 1)
        y = F.relu(self.norm1(self.one(x)), inplace=True)
        y = self.norm3(self.three(F.relu(self.norm2(self.two(y)), inplace=True)))
        scale = torch.sigmoid(self.excite(F.relu(self.squeeze(y.mean((2, 3))))))
        x = self.skip(F.avg_pool2d(x, 2, 2, ceil_mode=True, count_include_pad=False))
        x = F.relu(x + y * scale[:, :, None, None])
        logits = self.head(F.dropout(x.mean((-1, -2)), 0.2, self.training))
        return F.cross_entropy(logits, wanted, label_smoothing=0.1)


class Branches(nn.Module):
    """Inception: four branches of kernels long and tall, pools among them, joined."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Conv2d(6, 4, 1), nn.Conv2d(6, 4, (1, 7), padding=(0, 3))
        self.c, self.d = nn.Conv2d(4, 4, (7, 1), padding=(3, 0)), nn.Conv2d(6, 3, 1)
        self.norms = nn.ModuleList(nn.BatchNorm2d(c, eps=1e-3, momentum=0.01) for c in (4, 4, 4, 3))
        self.last = nn.Conv2d(17, 5, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a = F.relu(self.norms[0](self.a(x)))
        b = F.relu(self.norms[2](self.c(F.relu(self.norms[1](self.b(x))))))
        c = F.relu(self.norms[3](self.d(F.avg_pool2d(x, 3, 1, 1, count_include_pad=False))))
        y = torch.cat([a, b, c, F.max_pool2d(x, 3, 1, 1)], 1)
        y = F.lp_pool2d(self.last(y).abs() + 0.1, 2, 2)
        return F.adaptive_avg_pool2d(y, (3, 2)).flatten(1).log_softmax(-1)


class SmallHard(nn.Module):
    """MobileNetV3: hard swish, hard sigmoid, even widths, an efficient last stage."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.n0 = nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8)
        self.up, self.n1 = nn.Conv2d(8, 24, 1, bias=False), nn.BatchNorm2d(24)
        self.depth = nn.Conv2d(24, 24, 5, 1, 2, groups=24, bias=False)
        self.n2, self.down = nn.BatchNorm2d(24), nn.Conv2d(24, 8, 1, bias=False)
        self.n3, self.fc1, self.fc2 = nn.BatchNorm2d(8), nn.Conv2d(24, 8, 1), nn.Conv2d(8, 24, 1)
        self.last, self.head = nn.Linear(8, 16), nn.Linear(16, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.hardswish(self.n0(self.stem(x)), inplace=True)
        y = F.hardswish(self.n2(self.depth(F.hardswish(self.n1(self.up(x))))))
        y = y * F.hardsigmoid(self.fc2(F.relu(self.fc1(F.adaptive_avg_pool2d(y, 1)))))
        x = x + self.n3(self.down(y))
        x = F.hardswish(self.last(x.mean((2, 3))))
        return self.head(F.alpha_dropout(x, 0.1, self.training))


class Styled(nn.Module):
    """A generator whose kernels are modulated by a style, with noise and a blur."""

    def __init__(self) -> None:
        super().__init__()
        self.map = nn.ModuleList(nn.Linear(12, 12) for _ in range(3))
        self.base = nn.Parameter(torch.randn(1, 8, 4, 4))
        self.affine = nn.ModuleList(nn.Linear(12, 8) for _ in range(2))
        self.weight = nn.Parameter(torch.randn(2, 8, 8, 3, 3))
        self.strength, self.bias = nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(2, 8))
        self.rgb = nn.Conv2d(8, 3, 1)

    def layer(self, x: torch.Tensor, w: torch.Tensor, i: int) -> torch.Tensor:
        b, c, h, _ = x.shape
        weight = self.weight[i][None] * (self.affine[i](w) + 1)[:, None, :, None, None]
        weight = weight * torch.rsqrt(weight.square().sum((2, 3, 4), keepdim=True) + 1e-8)
        y = F.conv2d(x.reshape(1, b * c, h, h), weight.flatten(0, 1), padding=1, groups=b)
        y = y.view(b, c, h, h) + self.strength[i] * torch.randn(b, 1, h, h, device=x.device)
        return F.leaky_relu(y + self.bias[i].view(1, -1, 1, 1), 0.2) * math.sqrt(2)

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        w = z * torch.rsqrt(z.square().mean(1, keepdim=True) + 1e-8)
        for layer in self.map:
            w = F.leaky_relu(layer(w), 0.2)
        x = self.layer(self.base.expand(z.shape[0], -1, -1, -1), w, 0)
        x = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
        blur = torch.tensor([1.0, 2.0, 1.0], device=x.device)
        blur = (blur[:, None] * blur / 16).expand(8, 1, 3, 3)
        x = F.conv2d(F.pad(x, (1, 1, 1, 1), mode="reflect"), blur, groups=8)
        return torch.tanh(self.rgb(self.layer(x, w, 1)))


class Upscaled(nn.Module):
    """Super-resolution: residual blocks, channel attention, pixel shuffle, a sharp loss."""

    def __init__(self) -> None:
        super().__init__()
        self.head, self.a = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1)
        self.b, self.tail = nn.Conv2d(8, 8, 3, padding=1), nn.Conv2d(8, 12, 3, padding=1)
        self.slope = nn.PReLU(8)

    def forward(self, x: torch.Tensor, sharp: torch.Tensor) -> torch.Tensor:
        first = self.head(x - 0.5)
        y = self.b(self.slope(self.a(first)))
        y = first + 0.1 * y * y.mean((2, 3), keepdim=True).sigmoid()
        y = F.pixel_shuffle(self.tail(y), 2) + F.interpolate(x, scale_factor=2, mode="bicubic")
        away = torch.sqrt((y - sharp).square() + 1e-6).mean()
        steep = (y.diff(dim=-1).abs().mean() + y.diff(dim=-2).abs().mean()) * 0.1
        return away + steep - 10 * torch.log10(1 / F.mse_loss(y, sharp)) * 0.001


class Flow(nn.Module):
    """Optical flow: all-pairs correlation, a pyramid, look-ups around, a gated update."""

    def __init__(self) -> None:
        super().__init__()
        self.eyes, self.context = nn.Conv2d(3, 12, 3, 2, 1), nn.Conv2d(3, 12, 3, 2, 1)
        self.norm = nn.InstanceNorm2d(12)
        self.gates, self.new = nn.Conv2d(32, 24, 3, padding=1), nn.Conv2d(32, 12, 3, padding=1)
        self.move = nn.Conv2d(12, 2, 3, padding=1)

    def forward(self, one: torch.Tensor, two: torch.Tensor) -> torch.Tensor:
        a, b = self.norm(self.eyes(one)), self.norm(self.eyes(two))
        n, c, h, w = a.shape
        pairs = torch.einsum("nchw,ncij->nhwij", a, b).reshape(n * h * w, 1, h, w) / c**0.5
        rows = torch.arange(h, device=a.device, dtype=a.dtype)
        columns = torch.arange(w, device=a.device, dtype=a.dtype)
        base = torch.stack(torch.meshgrid(rows, columns, indexing="ij")[::-1], 0)[None]
        state, at = torch.tanh(self.context(one)), base.expand(n, -1, -1, -1)
        around = torch.tensor([[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]], device=a.device)
        for _ in range(2):
            spots = at.permute(0, 2, 3, 1).reshape(n * h * w, 1, 1, 2) + around.view(1, 1, 3, 2)
            grid = torch.cat(
                [2 * spots[..., :1] / (w - 1) - 1, 2 * spots[..., 1:] / (h - 1) - 1], -1
            )
            seen = []
            for level in (pairs, F.avg_pool2d(pairs, 2)):
                found = F.grid_sample(level, grid, align_corners=True)
                seen.append(found.view(n, h, w, 3).permute(0, 3, 1, 2))
            x = torch.cat([state, *seen, at - base, state], 1)
            z, r = self.gates(x).sigmoid().chunk(2, 1)
            new = torch.tanh(self.new(torch.cat([r * state, x[:, 12:]], 1)))
            state = (1 - z) * state + z * new
            at = at.detach() + self.move(state)
        return F.interpolate(at - base, scale_factor=2, mode="bilinear", align_corners=True) * 2


class TimedUnet(nn.Module):
    """Diffusion: sinusoids of time, scale and shift, attention at the bottom, skips, a loss."""

    def __init__(self, c: int = 8) -> None:
        super().__init__()
        self.time = nn.Sequential(nn.Linear(c, 2 * c), nn.SiLU(), nn.Linear(2 * c, 2 * c))
        self.first, self.down = nn.Conv2d(3, c, 3, padding=1), nn.Conv2d(c, c, 3, 2, 1)
        self.middle, self.up = nn.Conv2d(c, c, 3, padding=1), nn.ConvTranspose2d(c, c, 4, 2, 1)
        self.norms = nn.ModuleList(nn.GroupNorm(4, c) for _ in range(4))
        self.qkv, self.out = nn.Conv1d(c, 3 * c, 1), nn.Conv1d(c, c, 1)
        self.last = nn.Conv2d(2 * c, 3, 3, padding=1)

    def forward(self, x: torch.Tensor, noise: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        beta = torch.linspace(1e-4, 0.02, 50, device=x.device)
        kept = torch.cumprod(1 - beta, 0)[t].view(-1, 1, 1, 1)
        x = kept.sqrt() * x + (1 - kept).sqrt() * noise
        rates = torch.exp(-math.log(10000) * torch.arange(4, device=x.device) / 3)
        angle = t[:, None].float() * rates[None]
        scale, shift = self.time(torch.cat([angle.sin(), angle.cos()], -1)).chunk(2, 1)
        one = self.first(x)
        y = self.norms[0](one) * (1 + scale[..., None, None]) + shift[..., None, None]
        y = self.down(F.silu(y))
        y = y + self.middle(F.dropout(F.silu(self.norms[1](y)), 0.1, self.training))
        b, c, h, w = y.shape
        q, k, v = self.qkv(self.norms[2](y).reshape(b, c, h * w)).view(b, 2, -1, h * w).chunk(3, 2)
        weight = torch.softmax(torch.einsum("bdct,bdcs->bdts", q, k) * (c // 2) ** -0.5, -1)
        y = y + self.out(torch.einsum("bdts,bdcs->bdct", weight, v).reshape(b, c, -1)).view_as(y)
        y = torch.cat([F.silu(self.norms[3](self.up(y))), one], 1)
        return ((self.last(y) - noise) ** 2).mean((1, 2, 3)).mul(1 / (kept.flatten() + 1)).mean()


class Capsules(nn.Module):
    """Capsules: squashed vectors, three rounds of routing by agreement, a margin loss."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 16, 5, 2)
        self.weight = nn.Parameter(torch.randn(5, 72, 6, 8) * 0.1)

    def squashed(self, x: torch.Tensor) -> torch.Tensor:
        length = (x**2).sum(-1, keepdim=True)
        return length / (1 + length) * x / (length.sqrt() + 1e-8)

    def forward(self, x: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        b = x.shape[0]
        u = F.relu(self.conv(x)).view(b, 2, 8, -1).permute(0, 1, 3, 2).reshape(b, -1, 8)
        votes = torch.einsum("jiab,kib->kjia", self.weight, self.squashed(u))
        logits = torch.zeros(b, 5, 72, device=x.device)
        for turn in range(3):
            share = logits.softmax(1)
            v = self.squashed((share[..., None] * votes).sum(2))
            if turn < 2:
                logits = logits + (votes.detach() * v[:, :, None]).sum(-1)
        length = v.norm(dim=-1)
        right = F.one_hot(wanted, 5).to(length.dtype)
        loss = right * F.relu(0.9 - length) ** 2 + 0.5 * (1 - right) * F.relu(length - 0.1) ** 2
        return loss.sum(1).mean()


class Points(nn.Module):
    """Point clouds: a learned turn, nearest neighbours, edges between them, a maximum."""

    def __init__(self) -> None:
        super().__init__()
        self.turn, self.edge = nn.Linear(3, 9), nn.Conv2d(6, 16, 1, bias=False)
        self.norm, self.up = nn.BatchNorm2d(16), nn.Conv1d(16, 24, 1)
        self.norm1, self.head = nn.BatchNorm1d(24), nn.Linear(48, 5)

    def forward(self, points: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        turn = self.turn(points).amax(1).view(-1, 3, 3) + torch.eye(3, device=points.device)
        x = torch.bmm(points, turn)
        inner = -2 * x @ x.transpose(1, 2)
        long = x.square().sum(-1, keepdim=True)
        near = (-(long + inner + long.transpose(1, 2))).topk(4, -1).indices
        many = torch.arange(x.shape[0], device=x.device).view(-1, 1, 1)
        there = x[many, near]
        here = x[:, :, None].expand_as(there)
        y = self.edge(torch.cat([there - here, here], -1).permute(0, 3, 1, 2))
        y = F.leaky_relu(self.norm(y), 0.2).max(-1).values
        y = F.relu(self.norm1(self.up(y)))
        far = torch.cdist(x, x.detach().roll(1, 1)).amin(-1).mean()
        stray = (turn @ turn.transpose(1, 2) - torch.eye(3, device=x.device)).square().sum((1, 2))
        return self.head(torch.cat([y.amax(-1), y.mean(-1)], -1)), far + 0.001 * stray.mean()


class Radiance(nn.Module):
    """A field of light: encoded rays and views, density, colour along each ray."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(27, 24), nn.Linear(24 + 27, 24)
        self.dense, self.colour = nn.Linear(24, 1), nn.Linear(24 + 15, 3)

    def encoded(self, x: torch.Tensor, many: int) -> torch.Tensor:
        parts = [x]
        for power in range(many):
            parts += [torch.sin(x * 2.0**power), torch.cos(x * 2.0**power)]
        return torch.cat(parts, -1)

    def forward(self, start: torch.Tensor, way: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        steps = torch.linspace(0.5, 4, 12, device=start.device)
        steps = steps + torch.rand(start.shape[0], 12, device=start.device) * 0.3
        at = start[:, None] + way[:, None] * steps[..., None]
        x = self.encoded(at, 4)
        y = F.relu(self.b(torch.cat([F.relu(self.a(x)), x], -1)))
        view = self.encoded(F.normalize(way, dim=-1), 2)[:, None].expand(-1, 12, -1)
        colour = torch.sigmoid(self.colour(torch.cat([y, view], -1)))
        apart = torch.cat([steps.diff(dim=-1), torch.full_like(steps[:, :1], 1e10)], -1)
        alpha = 1 - torch.exp(-F.softplus(self.dense(y)[..., 0] - 1) * apart)
        left = torch.cumprod(1 - alpha + 1e-10, -1).roll(1, -1)
        weight = alpha * torch.where(steps.argsort(-1) == 0, torch.ones_like(left), left)
        seen = (weight[..., None] * colour).sum(1) + (1 - weight.sum(-1, keepdim=True))
        return F.mse_loss(seen, wanted) + 0.01 * (weight * steps).sum(-1).var()
