"""Further small functions, written to judge the engine: nobody had tuned it for them.

Attention in its variants, losses, norms, pools, sorts, recurrences, scatters, bits, optimizers.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F

from bench.truth_programs.program import Program
from bench.truth_programs.small_programs import Written, both_of_each, floats

_Tensors = tuple[torch.Tensor, ...]


def regressions(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    spread = F.softplus(x.roll(1, -1)) + 1e-3
    ranks = F.margin_ranking_loss(x[:, 0], y[:, 0], torch.sign(y[:, 1]), margin=0.2)
    return (
        F.smooth_l1_loss(x, y, beta=0.3) + F.gaussian_nll_loss(x, y, spread)
        + F.poisson_nll_loss(x, y.abs(), full=True) + F.soft_margin_loss(x, torch.sign(y).detach())
        + F.cosine_embedding_loss(x, y, torch.sign(y[:, 0]).detach()) + ranks
    )  # fmt: skip


def margins(scores: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    several = F.one_hot(wanted, scores.shape[1]).to(scores.dtype)
    soft = F.multilabel_soft_margin_loss(scores, several)
    cosine = F.normalize(scores, dim=-1).clamp(-0.99, 0.99)
    angular = torch.where(several > 0, torch.cos(torch.acos(cosine) + 0.3), cosine)
    return F.multi_margin_loss(scores, wanted) + soft + F.cross_entropy(8 * angular, wanted)


def lattice(scores: torch.Tensor, moves: torch.Tensor) -> _Tensors:
    """Forward algorithm and best path of a linear chain."""
    total, best, back = scores[:, 0], scores[:, 0], []
    for step in range(1, 4):
        total = torch.logsumexp(total[:, :, None] + moves, 1) + scores[:, step]
        best, where = (best[:, :, None] + moves).max(1)
        best = best + scores[:, step]
        back.append(where)
    return torch.logsumexp(total, 1) - best.amax(1), torch.stack(back, 1)


def biased(q: torch.Tensor, k: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    """Attention with logarithmic buckets of distance."""
    n = q.shape[-2]
    steps = torch.arange(n, device=q.device)
    apart = steps[None] - steps[:, None]
    far = apart.abs()
    logs = (torch.log(far.float().clamp_min(1) / 4) / math.log(16) * 4).long() + 4
    bucket = torch.where(far < 4, far, logs.clamp_max(7)) + (apart > 0) * 8
    bias = F.embedding(bucket, table).permute(2, 0, 1)
    return torch.softmax((q @ k.transpose(-1, -2) + bias).float(), -1).to(q.dtype) @ k


def windowed(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    """Capped scores within a sliding window, with a slope for each head."""
    rows = torch.arange(q.shape[-2], device=q.device)
    back = rows[:, None] - rows[None]
    slope = torch.pow(2.0, -torch.arange(1, q.shape[1] + 1, device=q.device).float())
    scores = 5 * torch.tanh(q @ k.transpose(-1, -2) / 5) - slope[:, None, None] * back.abs()
    weights = scores.masked_fill((back < 0) | (back >= 6), -1e9).softmax(-1)
    sink = torch.cat([weights, torch.zeros_like(weights[..., :1])], -1).softmax(-1)[..., :-1]
    return (weights - 0.1 * sink).to(k.dtype) @ k


def linear(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    q, k = F.elu(q) + 1, F.elu(k) + 1
    state = torch.cumsum(k[..., :, None] * v[..., None, :], 2)
    norm = (q * k.cumsum(2)).sum(-1, keepdim=True)
    return (q[..., None, :] @ state).squeeze(-2) / norm.clamp_min(1e-3)


def padded(q: torch.Tensor, k: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
    """Keys that are padding, rows that have no keys, a query-key norm."""
    q, k = F.rms_norm(q, q.shape[-1:]), F.layer_norm(k, k.shape[-1:])
    scores = torch.einsum("bhid,bhjd->bhij", q, k).div(k.shape[-1] ** 0.5)
    scores = scores.masked_fill(keep[:, None, None] < 0, float("-inf"))
    weights = torch.nan_to_num(scores.softmax(-1))
    return F.dropout(weights, 0.1) @ F.scaled_dot_product_attention(q, k, k)


def norms(x: torch.Tensor, scale: torch.Tensor, shift: torch.Tensor) -> torch.Tensor:
    grouped = F.group_norm(x, 2, scale, shift)
    standard = (x - x.mean((2, 3), keepdim=True)) / (x.std((2, 3), keepdim=True) + 1e-5)
    local = F.local_response_norm(x, 3)
    response = x.norm(dim=(2, 3), keepdim=True)
    global_response = x * (response / (response.mean(1, keepdim=True) + 1e-6))
    return grouped + standard * local + global_response + F.layer_norm(x, x.shape[1:])


def running(x: torch.Tensor, mean: torch.Tensor, var: torch.Tensor) -> torch.Tensor:
    """Batch norm that renews its averages in place."""
    mean, var = mean.detach() * 1, var.detach().abs() + 0.5
    y = F.batch_norm(x, mean, var, training=True, momentum=0.2)
    return F.relu6(y) + F.batch_norm(x, mean, var) + mean.sum() * var.sum()


def pools(x: torch.Tensor) -> _Tensors:
    high, where = F.max_pool2d(x, 2, return_indices=True)
    back = F.max_unpool2d(high, where, 2)
    return (
        back + x, F.lp_pool2d(x.abs() + 0.1, 2, 3, 2), F.avg_pool2d(x, 3, 2, 1, True, False),
        F.adaptive_max_pool2d(x, 3), F.max_pool2d(x, 3, 1, 1, dilation=2),
    )  # fmt: skip


def volumes(x: torch.Tensor) -> _Tensors:
    pooled = F.avg_pool3d(x, 2, 2, ceil_mode=True)
    deep = F.max_pool3d(x, 3, 2, 1)
    return F.interpolate(pooled, size=x.shape[2:], mode="trilinear") * x, deep


def resized(x: torch.Tensor) -> _Tensors:
    return (
        F.interpolate(x, scale_factor=1.5, mode="bicubic"),
        F.interpolate(x, size=(5, 7), mode="area"),
        F.interpolate(x, size=(9, 5), mode="nearest-exact") + x[..., :9, :5],
        F.pad(x, (2, 1, 1, 2), mode="circular"), F.pad(x, (3, 0, 0, 1), mode="reflect"),
    )  # fmt: skip


def shuffled(x: torch.Tensor) -> torch.Tensor:
    """Shifted windows, channels shuffled, space to depth, strips unfolded and folded."""
    b, c, h, w = x.shape
    moved = x.roll((-2, -2), (2, 3)).view(b, c, h // 4, 4, w // 4, 4).permute(0, 2, 4, 3, 5, 1)
    tokens = moved.reshape(-1, 16, c).softmax(1)
    back = tokens.view(b, h // 4, w // 4, 4, 4, c).permute(0, 5, 1, 3, 2, 4).reshape(x.shape)
    mixed = back.roll((2, 2), (2, 3)).view(b, 2, c // 2, h, w).transpose(1, 2).flatten(1, 2)
    deep = F.pixel_shuffle(F.pixel_unshuffle(mixed, 2).flip(1), 2)
    return deep + F.fold(F.unfold(x, 3, padding=1, stride=2), (h, w), 3, padding=1, stride=2)


def routed(x: torch.Tensor, gate: torch.Tensor) -> _Tensors:
    """Best experts of each token, their load, and a loss that balances it."""
    likely = torch.softmax(x @ gate, -1)
    weight, expert = torch.topk(likely, 2)
    weight = weight / weight.sum(-1, keepdim=True)
    load = torch.zeros_like(likely).scatter_(1, expert, weight)
    place = (torch.cumsum(F.one_hot(expert[:, 0], gate.shape[1]), 0) - 1).amax(-1)
    balance = gate.shape[1] * (load.mean(0) * likely.mean(0)).sum()
    return load, torch.where(place < 3, place, -1), balance + torch.logsumexp(x @ gate, -1).mean()


def binned(x: torch.Tensor, edges: torch.Tensor) -> _Tensors:
    edges = edges.cumsum(0).abs().sort().values
    which = torch.bucketize(x, edges)
    counts = torch.zeros(edges.shape[0] + 1, device=x.device).index_put_(
        (which.flatten(),), torch.ones_like(x).flatten().float(), accumulate=True
    )
    share = counts.cumsum(0) / counts.sum()
    return share[which], torch.searchsorted(share, torch.rand(5, device=x.device)), which % 3 == 0


def placed(x: torch.Tensor, rows: torch.Tensor) -> _Tensors:
    """What stands at places is written, filled, added, taken."""
    filled = x.index_fill(0, rows, 0.5).index_copy(0, rows.flip(0), x[: rows.shape[0]] * 2)
    spread = torch.scatter(x, 1, (rows[:, None] % x.shape[1]), 3.0)
    chosen = torch.take_along_dim(x, x.argsort(1)[:, :3], 1)
    bounded = x.masked_fill(x.isnan() | x.isinf(), 0).masked_fill(x.abs() > 1, -1)
    x = bounded.clone()
    x[:, 1::2] += spread[:, ::2]
    x[rows, 0] = 7
    return filled, x, chosen, torch.diagonal_scatter(x, x[0, : min(x.shape)], 0)


def reduced(x: torch.Tensor, group: torch.Tensor) -> _Tensors:
    near = group[:, None].expand_as(x)
    zero = x.new_zeros(6, x.shape[1])
    mean = zero.scatter_reduce(0, near, x, "mean", include_self=False)
    return (
        mean,
        zero.scatter_reduce(0, near, x, "amin"),
        (zero + 1).scatter_reduce(0, near, x, "prod"),
    )


def phases(x: torch.Tensor, angle: torch.Tensor) -> _Tensors:
    """Complex numbers as pairs: turned, multiplied, measured."""
    real, unreal = x.unflatten(-1, (-1, 2)).unbind(-1)
    turned = torch.stack([real * angle.cos() - unreal * angle.sin(),
                          real * angle.sin() + unreal * angle.cos()], -1)  # fmt: skip
    size = torch.sqrt(turned.square().sum(-1).clamp_min(1e-6))
    wave = torch.fft.rfft(size.float(), dim=-1)
    return turned.flatten(-2), torch.atan2(unreal, real) % (2 * math.pi), wave.abs(), size


def nibbles(packed: torch.Tensor, scale: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """A matrix in four bits, two in a byte, a scale for each group, against a vector."""
    both = torch.stack([packed & 15, packed >> 4], -1).flatten(-2)
    whole = (both.to(scale.dtype) - 8).unflatten(-1, (-1, 8)) * scale[..., None]
    return F.linear(x, whole.flatten(-2)) + (x[:, None] * whole.flatten(-2)).sum(-1)


def faked(x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """Quantised and back, with gradients that pass straight through."""
    step = scale.abs() + 0.05
    low = torch.clamp(torch.round(x / step) + 3, -8, 7) - 3
    straight = x + (low * step - x).detach()
    zero = torch.zeros(x.shape[1], device=x.device, dtype=torch.int32)
    return straight + torch.fake_quantize_per_channel_affine(
        x.float(), step.float().detach(), zero, 1, -128, 127
    ).to(x.dtype)


def bits(a: torch.Tensor, b: torch.Tensor) -> _Tensors:
    """Integers: how many bits differ, a generator's steps, flags, divisions."""
    x = (a ^ b) & 0x7FFFFFFF
    x = x - ((x >> 1) & 0x55555555)
    x = (x & 0x33333333) + ((x >> 2) & 0x33333333)
    count = (((x + (x >> 4)) & 0x0F0F0F0F) * 0x01010101 >> 24) & 63
    flags = (a > b).logical_xor(b % 3 == 0) | torch.isin(
        a % 5, torch.tensor([1, 3], device=a.device)
    )
    divided = torch.div(a - 500, (b % 9) + 1, rounding_mode="floor") + torch.gcd(a, b)
    return count, flags.any(1), flags.all(0), divided, count.max(1).values, flags.sum(1)


def cells(x: torch.Tensor, h: torch.Tensor, w: torch.Tensor) -> _Tensors:
    """An LSTM's cell with norms and a gated unit, over a few steps."""
    c = torch.zeros_like(h)
    for step in range(3):
        gates = F.layer_norm(torch.cat([x[:, step], h], 1) @ w, (4 * h.shape[1],))
        i, f, g, o = gates.chunk(4, 1)
        c = torch.sigmoid(f + 1) * c + torch.sigmoid(i) * torch.tanh(g)
        fresh = torch.sigmoid(o) * torch.tanh(c)
        h = torch.lerp(h, fresh, torch.sigmoid(i - f)) if step else fresh
    return h, c


def inplace(w: torch.Tensor, grad: torch.Tensor, m: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Steps of two optimizers, written into their states."""
    w, m, v = w.clone(), m.clone(), v.abs()
    grad = grad * (1 / (grad.norm() + 1e-6)).clamp_max(1)
    update = m.mul(0.9).add(grad, alpha=0.1).sign_()
    m.mul_(0.99).add_(grad, alpha=0.01)
    row, column = grad.square().mean(1).add_(1e-8), grad.square().mean(0).add_(1e-8)
    factored = torch.outer(row / row.mean(), column).rsqrt_()
    v.lerp_(grad.square(), 0.001)
    w.mul_(1 - 0.01).add_(update, alpha=-0.003).addcdiv_(m, v.sqrt().add_(1e-8), value=-1e-3)
    return w.sub_(grad * factored, alpha=0.1)


def apart(x: torch.Tensor, y: torch.Tensor) -> _Tensors:
    """One step of k-means, kernels of distances."""
    squares = (x.square().sum(1)[:, None] + y.square().sum(1) - 2 * x @ y.t()).clamp_min(0)
    nearest = squares.argmin(1)
    member = F.one_hot(nearest, y.shape[0]).to(x.dtype)
    centre = (member.t() @ x) / member.sum(0).clamp_min(1)[:, None]
    taxi = (x[:, None] - y).abs().sum(-1)
    return centre, torch.exp(-taxi / 2), torch.cdist(x, y), F.cosine_similarity(x[:, None], y, -1)


def moments(x: torch.Tensor) -> _Tensors:
    var, mean = torch.var_mean(x, 1, keepdim=True)
    z = (x - mean) * torch.rsqrt(var + 1e-5)
    return (z.pow(3).mean(1), z.pow(4).mean(1) - 3, x.norm(1, 1), x.norm(float("inf"), 0),
            torch.logsumexp(x, (0, 1)), x.argmin(0), torch.aminmax(x)[0], x.nansum(0),
            (x > 0).float().mean(), x.prod(1), torch.count_nonzero(x > 1, 0))  # fmt: skip


def matrices(x: torch.Tensor, y: torch.Tensor) -> _Tensors:
    lower = x.tril() + torch.diag_embed(x.diagonal(dim1=-2, dim2=-1).exp()) - y.triu(1)
    skew = x - x.transpose(-1, -2)
    return (lower, skew @ y, torch.kron(x[0], y[0]), torch.cross(x[..., :3], y[..., :3], -1),
            torch.block_diag(x[0], y[1]), x.diagonal(dim1=1, dim2=2).sum(1))  # fmt: skip


def special(x: torch.Tensor) -> torch.Tensor:
    y = x.sigmoid() * 0.98 + 0.01
    smooth = torch.erfinv(2 * y - 1) + torch.lgamma(y + 1) + torch.sinc(x) + torch.expm1(-y)
    return smooth + torch.logit(y) + torch.log1p(y) + torch.i0(y) + torch.special.ndtr(x) + x.frac()


def gates(x: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
    y = F.mish(x) + F.hardswish(x) + F.hardsigmoid(x) + F.softsign(x) + F.celu(x, 0.7) + F.selu(x)
    z = F.prelu(x, slope) + F.threshold(x, 0.1, -0.2) + F.softshrink(x, 0.3) + F.hardshrink(x)
    return F.glu(y + z, -1) * F.logsigmoid(x[..., ::2]) + F.gelu(x[..., 1::2]) * F.tanhshrink(
        y[..., 1::2]
    )


def noise(x: torch.Tensor) -> torch.Tensor:
    """Drawn values: of Gumbel's distribution, dropped units, jitter, a masked part."""
    drawn = -torch.log(-torch.log(torch.rand_like(x) + 1e-6) + 1e-6)
    soft = ((x + drawn) / 0.7).softmax(-1)
    hard = torch.zeros_like(soft).scatter_(-1, soft.argmax(-1, keepdim=True), 1.0)
    kept = torch.rand(x.shape[0], 1, device=x.device) < 0.6
    jitter = x + 0.1 * torch.randn_like(x) * torch.randint(0, 2, x.shape, device=x.device)
    return torch.where(kept, F.dropout(jitter, 0.3), (hard - soft).detach() + soft)


def pictures(image: torch.Tensor, turn: torch.Tensor) -> torch.Tensor:
    """Bytes to normalised floats, colours turned, mirrored, rotated."""
    x = image.permute(0, 3, 1, 2).to(turn.dtype) / 255
    x = (x - turn.new_tensor([0.4, 0.5, 0.6]).view(3, 1, 1)) / 0.25
    grey = 0.3 * x[:, 0] + 0.6 * x[:, 1] + 0.1 * x[:, 2]
    x = torch.einsum("ij,bjhw->bihw", turn, x) + grey[:, None] * 0.2
    x = torch.where(torch.rand(x.shape[0], 1, 1, 1, device=x.device) < 0.5, x.flip(-1), x)
    return torch.rot90(x, 1, (2, 3)).clamp(-2, 2) + x.amax((1, 2, 3), keepdim=True)


def rendered(points: torch.Tensor, density: torch.Tensor, colour: torch.Tensor) -> _Tensors:
    """Waves of positions, light along rays, and where to look more closely."""
    rates = 2.0 ** torch.arange(4, device=points.device)
    waves = (points[..., None] * rates).flatten(-2)
    encoded = torch.cat([points, waves.sin(), waves.cos()], -1)
    steps = F.pad(density.abs().cumsum(1).diff(dim=1), (0, 1), value=1.0)
    stopped = 1 - torch.exp(-F.relu(density) * steps)
    through = torch.cumprod(torch.cat([torch.ones_like(stopped[:, :1]), 1 - stopped + 1e-7], 1), 1)
    weight = stopped * through[:, :-1]
    shares = torch.cumsum(weight / weight.sum(1, keepdim=True).clamp_min(1e-5), 1)
    return encoded, (weight[..., None] * colour.sigmoid()).sum(1), (shares < 0.5).sum(1)


def beams(scores: torch.Tensor, so_far: torch.Tensor, history: torch.Tensor) -> _Tensors:
    """One step of a beam search over what has been said."""
    seen = torch.zeros_like(scores).scatter_(-1, history, 1.0)
    scores = torch.where(seen > 0, torch.where(scores < 0, scores * 1.3, scores / 1.3), scores)
    total = (scores.log_softmax(-1) + so_far[..., None]).flatten(1)
    best, which = total.topk(so_far.shape[1], -1)
    beam, word = which // scores.shape[-1], which % scores.shape[-1]
    said = torch.gather(history, 1, beam[..., None].expand_as(history))
    return best, torch.cat([said[..., 1:], word[..., None]], -1), (word == 2) | (best < -50)


def backwards(x: torch.Tensor, reward: torch.Tensor) -> _Tensors:
    """Sums from behind, returns that fade, differences in time."""
    behind = x.flip(1).cumsum(1).flip(1)
    left = [reward[:, -1]]
    for step in range(reward.shape[1] - 2, -1, -1):
        left.append(reward[:, step] + 0.9 * left[-1])
    gain = torch.stack(left[::-1], 1)
    gain = (gain - gain.mean()) / (gain.std() + 1e-8)
    ratio = torch.exp(x - x.detach().roll(1, 1))
    clipped = torch.minimum(ratio * gain, ratio.clamp(0.8, 1.2) * gain)
    return behind, -clipped.mean() + 0.01 * (x * x.exp()).sum(1).mean(), torch.cumsum(reward, 0)


def _scores(device: str) -> _Tensors:
    return torch.randn(14, 7, device=device), torch.randint(0, 7, (14,), device=device)


def _rows(device: str) -> _Tensors:
    return torch.randn(12, 10, device=device), torch.tensor([3, 1, 4, 8, 5], device=device)


def _groups(device: str) -> _Tensors:
    return torch.randn(25, 9, device=device), torch.randint(0, 6, (25,), device=device)


def _nibbles(device: str) -> _Tensors:
    return (torch.randint(0, 255, (12, 16), device=device, dtype=torch.uint8),
            torch.rand(12, 4, device=device), torch.randn(5, 32, device=device))  # fmt: skip


def _integers(device: str) -> _Tensors:
    return (torch.randint(1, 999, (8, 21), device=device, dtype=torch.int32),
            torch.randint(1, 999, (8, 21), device=device, dtype=torch.int32))  # fmt: skip


def _image(device: str) -> _Tensors:
    return (torch.randint(0, 255, (2, 8, 8, 3), device=device, dtype=torch.uint8),
            torch.randn(3, 3, device=device))  # fmt: skip


def _beams(device: str) -> _Tensors:
    return (torch.randn(2, 3, 20, device=device), torch.randn(2, 3, device=device),
            torch.randint(0, 20, (2, 3, 5), device=device))  # fmt: skip


_PROGRAMS: tuple[Written, ...] = (
    ("regressions", regressions, floats((9, 20), (9, 20)), True),
    ("margins", margins, _scores, True),
    ("lattice", lattice, floats((3, 4, 6), (6, 6)), True),
    ("biased", biased, floats((2, 4, 10, 8), (2, 4, 10, 8), (16, 4)), True),
    ("windowed", windowed, floats((2, 4, 12, 8), (2, 4, 12, 8)), True),
    ("linear", linear, floats((2, 2, 10, 4), (2, 2, 10, 4), (2, 2, 10, 6)), True),
    ("padded", padded, floats((2, 3, 9, 8), (2, 3, 9, 8), (2, 9)), False),
    ("norms", norms, floats((2, 4, 6, 6), (4,), (4,)), True),
    ("running", running, floats((6, 5, 4, 4), (5,), (5,)), True),
    ("pools", pools, floats((2, 3, 10, 10)), True),
    ("volumes", volumes, floats((1, 2, 6, 6, 6)), True),
    ("resized", resized, floats((2, 3, 12, 12)), True),
    ("shuffled", shuffled, floats((2, 8, 8, 8)), True),
    ("routed", routed, floats((15, 8), (8, 6)), True),
    ("binned", binned, floats((6, 30), (7,)), False),
    ("placed", placed, _rows, False),
    ("reduced", reduced, _groups, False),
    ("phases", phases, floats((3, 16), (3, 8)), False),
    ("nibbles", nibbles, _nibbles, False),
    ("faked", faked, floats((7, 12), (12,)), True),
    ("bits", bits, _integers, False),
    ("cells", cells, floats((4, 3, 6), (4, 8), (14, 32)), True),
    ("inplace", inplace, floats((12, 20), (12, 20), (12, 20), (12, 20)), False),
    ("apart", apart, floats((18, 5), (4, 5)), False),
    ("moments", moments, floats((9, 40)), False),
    ("matrices", matrices, floats((2, 6, 6), (2, 6, 6)), False),
    ("special", special, floats((5, 33)), True),
    ("gates", gates, floats((6, 24), (1,)), True),
    ("noise", noise, floats((8, 18)), True),
    ("pictures", pictures, _image, False),
    ("rendered", rendered, floats((5, 8, 3), (5, 8), (5, 8, 3)), True),
    ("beams", beams, _beams, False),
    ("backwards", backwards, floats((4, 12), (4, 12)), True),
)


def programs() -> list[Program]:
    return both_of_each("more", _PROGRAMS)
