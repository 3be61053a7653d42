# mypy: allow-subclassing-any
"""Further whole models, kin of those in the other files: pools, routes, styles, factored steps."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn


class Pooled(nn.Module):
    """Pools of many kinds between convolutions, joined and normalised over neighbours."""

    def __init__(self) -> None:
        super().__init__()
        self.tall, self.wide = nn.Conv2d(4, 6, (5, 1), padding=(2, 0)), nn.Conv2d(6, 6, (1, 5))
        self.norm, self.last = nn.BatchNorm2d(6, eps=1e-3), nn.Conv2d(16, 7, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a = F.relu6(self.norm(self.wide(F.pad(self.tall(x), (2, 2, 0, 0)))))
        b = F.avg_pool2d(a, 3, 1, 1, count_include_pad=False)
        y = torch.cat([a, b, F.max_pool2d(x, 5, 1, 2)], 1)
        y = F.lp_pool2d(F.softplus(self.last(y)), 3, 2, ceil_mode=True)
        y = F.local_response_norm(y, 3, alpha=0.01)
        y = torch.cat([F.adaptive_avg_pool2d(y, (2, 3)), F.adaptive_max_pool2d(y, (2, 3))], 1)
        return F.normalize(y.flatten(1), dim=-1)


class Routes(nn.Module):
    """The best two experts of a token, their places in line, what is over is dropped."""

    def __init__(self, width: int = 12, many: int = 3) -> None:
        super().__init__()
        self.many, self.noise = many, nn.Linear(width, many)
        self.gate = nn.Linear(width, many)
        self.into = nn.Parameter(torch.randn(many, width, 20) * 0.1)
        self.back = nn.Parameter(torch.randn(many, 10, width) * 0.1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        score = self.gate(x) + torch.randn_like(x[:, : self.many]) * F.softplus(self.noise(x))
        best, which = score.topk(2, -1)
        share = torch.zeros_like(score).scatter(-1, which, best.softmax(-1))
        chosen = F.one_hot(which, self.many).transpose(0, 1).reshape(-1, self.many)
        line = (chosen.cumsum(0) - 1) * chosen
        kept = (line < 8) & (chosen > 0)
        seats = F.one_hot(line.clamp(max=7), 8) * kept[..., None]
        seats = seats.view(2, x.shape[0], self.many, 8).sum(0).to(x.dtype)
        given = torch.einsum("tes,td->esd", seats, x)
        left, right = torch.einsum("esd,edh->esh", given, self.into).chunk(2, -1)
        made = torch.einsum("esh,ehd->esd", F.silu(left) * right, self.back)
        out = torch.einsum("tes,esd->td", seats * share[..., None], made)
        load = share.sum(0)
        spread = load.var() / (load.mean() ** 2 + 1e-10)
        return x + out, spread + (share > 0).sum(0).float().std()


class Modulated(nn.Module):
    """Kernels scaled by a style for each picture, normalised, with noise, resized, blurred."""

    def __init__(self) -> None:
        super().__init__()
        self.style, self.kernel = nn.Linear(6, 5), nn.Parameter(torch.randn(4, 5, 3, 3))
        self.loud, self.shift = nn.Parameter(torch.ones(1)), nn.Parameter(torch.zeros(4))
        self.skip = nn.Conv2d(5, 4, 1)

    def forward(self, x: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        b, c, h, w = x.shape
        z = z / (z.pow(2).mean(-1, keepdim=True) + 1e-8).sqrt()
        kernel = self.kernel * (1 + self.style(z)).view(b, 1, c, 1, 1)
        kernel = kernel * (kernel.pow(2).sum((2, 3, 4), keepdim=True) + 1e-8).rsqrt()
        y = F.pad(x, (1, 1, 1, 1), mode="reflect").reshape(1, b * c, h + 2, w + 2)
        y = F.conv2d(y, kernel.reshape(-1, c, 3, 3), groups=b).reshape(b, 4, h, w)
        y = y + torch.randn(b, 1, h, w, device=x.device, dtype=x.dtype) * self.loud
        y = F.leaky_relu(y + self.shift[:, None, None], 0.2) * 1.4
        y = F.interpolate(y, size=(h + 3, w + 3), mode="bilinear")
        lines = torch.tensor([1.0, 3.0, 3.0, 1.0], device=x.device, dtype=x.dtype)
        blur = torch.outer(lines, lines).div(64)[None, None].repeat(4, 1, 1, 1)
        y = F.conv2d(y, blur, groups=4)
        return torch.sigmoid(y + self.skip(x)) - y.std(0, unbiased=False).mean()


def sm3(w: torch.Tensor, grad: torch.Tensor, row: torch.Tensor, column: torch.Tensor) -> None:
    """Largest squares by row and column, kept in the first ones of the states."""
    square = torch.minimum(row[:, :1], column[:1]) + grad * grad
    row[:, 0].copy_(square.amax(1))
    column[0].copy_(square.amax(0))
    w.sub_(grad * torch.where(square > 0, square.rsqrt(), 0.0), alpha=0.1)


def signed(w: torch.Tensor, grad: torch.Tensor, m: torch.Tensor, v: torch.Tensor) -> None:
    """A sign of a mean that looks ahead; a clipped second moment in halves of the state."""
    scale = torch.clamp(1.0 / (torch.linalg.vector_norm(grad) + 1e-6), max=1.0)
    grad = grad * scale
    w.mul_(0.99).add_((0.9 * m + 0.1 * grad).sign_(), alpha=-0.01)
    m.mul_(0.95).add_(grad, alpha=0.05)
    v[:12].mul_(0.9).add_(grad[:12].square(), alpha=0.1)
    v[12:, ::2] += grad[12:, ::2].abs()


def sketched(w: torch.Tensor, grad: torch.Tensor, row: torch.Tensor, column: torch.Tensor) -> None:
    """Second moments by row and column; the update is cut by its root mean square."""
    square = grad.pow(2).add(1e-12)
    row[0, :].mul_(0.9).add_(square.mean(-2), alpha=0.1)
    column[:, 1].lerp_(square.mean(-1), 0.1)
    both = torch.outer(column[:, 1], row[0]) / column[:, 1].mean()
    step = grad * both.abs().clamp_min(1e-8).rsqrt()
    step = step / step.pow(2).mean().sqrt().clamp(min=1.0)
    w.add_(step, alpha=-0.02).mul_(0.999)
