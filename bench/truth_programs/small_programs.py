"""Small functions of many trades: losses, boxes, graphs, sound, scans, small integers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F

from bench.truth_programs.program import Case, Program

_Tensors = tuple[torch.Tensor, ...]


def focal(logits: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    likely = F.log_softmax(logits, -1).gather(1, wanted[:, None]).squeeze(1)
    return (-((1 - likely.exp()) ** 2) * likely).mean()


def smoothed(logits: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(logits, wanted, label_smoothing=0.1, ignore_index=2) + F.nll_loss(
        F.log_softmax(logits, 1), wanted, weight=torch.linspace(0.5, 1, 9, device=logits.device)
    )


def contrastive(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    scores = F.normalize(left, dim=-1) @ F.normalize(right, dim=-1).t() / 0.07
    same = torch.arange(left.shape[0], device=left.device)
    triplet = F.triplet_margin_loss(left, right, right.roll(1, 0), margin=0.3)
    return (F.cross_entropy(scores, same) + F.cross_entropy(scores.t(), same)) / 2 + triplet


def robust(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    huber = F.huber_loss(left, right, delta=0.7)
    logistic = F.binary_cross_entropy_with_logits(
        left, right.sigmoid(), pos_weight=left.new_full((1,), 2)
    )
    divergence = F.kl_div(left.log_softmax(-1), right.softmax(-1), reduction="batchmean")
    dice = (
        1 - 2 * (left.sigmoid() * right.sigmoid()).sum() / (left.sigmoid() + right.sigmoid()).sum()
    )
    return huber + logistic + divergence + dice + torch.log(torch.cosh(left - right)).mean()


def boxes(ours: torch.Tensor, theirs: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Generalised overlap of all pairs, and the best partner of each."""
    ours, theirs = (torch.cat([b[:, :2], b[:, :2] + b[:, 2:].abs()], 1) for b in (ours, theirs))
    top = torch.maximum(ours[:, None, :2], theirs[None, :, :2])
    end = torch.minimum(ours[:, None, 2:], theirs[None, :, 2:])
    shared = (end - top).clamp(min=0).prod(-1)
    area = [(b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1]) for b in (ours, theirs)]
    union = area[0][:, None] + area[1][None] - shared
    overlap = shared / union.clamp_min(1e-6)
    best, which = overlap.max(1)
    return overlap, torch.where(best > 0.5, which, -1), theirs[which] * best[:, None]


def anchors(deltas: torch.Tensor, scores: torch.Tensor) -> tuple[torch.Tensor, ...]:
    rows = torch.arange(deltas.shape[0], device=deltas.device)
    centre = torch.stack([rows % 6, rows // 6], 1).to(deltas.dtype) * 8 + 4
    decoded = torch.cat([centre + deltas[:, :2] * 8, deltas[:, 2:].clamp(max=4.1).exp() * 8], 1)
    ordered, places = torch.sort(scores, descending=True)
    return decoded[places], ordered > 0.3, torch.cumsum(ordered > 0.3, 0)


def messages(x: torch.Tensor, edges: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """A layer of a graph network: gather, attend over neighbours, scatter back."""
    source, target = edges
    degree = torch.zeros(x.shape[0], device=x.device, dtype=x.dtype)
    degree = degree.scatter_add(0, target, torch.ones_like(target, dtype=x.dtype))
    norm = degree.clamp_min(1).rsqrt()
    sent = (x @ weight)[source] * (norm[source] * norm[target])[:, None]
    total = torch.zeros_like(sent[: x.shape[0]]).index_add(0, target, sent)
    score = F.leaky_relu(sent.sum(-1), 0.2)
    top = torch.full_like(degree, -1e4).scatter_reduce(0, target, score, "amax")
    share = torch.exp(score - top[target])
    below = torch.zeros_like(degree).index_add(0, target, share)
    mixed = torch.zeros_like(total).index_add(0, target, sent * (share / below[target])[:, None])
    return F.elu(total + mixed)


def bag(table: torch.Tensor, places: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    picked = F.embedding(places, table, padding_idx=0)
    kept = (places != 0).to(table.dtype)[..., None]
    mean = (picked * kept).sum(1) / kept.sum(1).clamp_min(1)
    crossed = torch.einsum("bid,bjd->bij", picked, picked).flatten(1)
    return torch.cat([mean, (picked * weights[..., None]).amax(1), crossed], 1)


def selective(x: torch.Tensor, step: torch.Tensor, decay: torch.Tensor) -> torch.Tensor:
    """A state-space layer in logarithms: cumulative sums and cumulative log-sum-exps."""
    rate = F.softplus(step)
    total = torch.cumsum(-rate * decay.exp(), 1)
    state = torch.logcumsumexp(x.abs().clamp_min(1e-4).log() - total, 1) + total
    return state.exp() * torch.sign(x) + torch.cumprod(torch.sigmoid(x), 1)


def extremes(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    high, at = torch.cummax(x, 1)
    low = torch.cummin(x, 1).values
    return high - low, at, torch.median(x, 1).values, x.argsort(1), x.std(0), x.amin(1, True)


def quantised(x: torch.Tensor, weight: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """A linear layer in eight bits, per channel, and back."""
    step = x.abs().amax(-1, keepdim=True) / 127
    whole = torch.clamp(torch.round(x / step), -128, 127).to(torch.int8)
    product = (whole.float() @ weight.float().t()).to(torch.int32)
    out = product.to(x.dtype) * step * scale
    return torch.clamp(torch.round(F.relu(out) / 0.05) + 3, 0, 255).to(torch.uint8)


def packed(x: torch.Tensor, zero: torch.Tensor) -> torch.Tensor:
    """Four bits a value: unpacked, shifted, scaled; checksums by bits."""
    low, high = (x & 15).to(torch.int8), (x >> 4).to(torch.int8)
    whole = torch.stack([low, high], -1).flatten(1) - zero
    parity = (x ^ (x << 1)) | (x // 3)
    return whole.to(torch.float16) * 0.25 + (parity % 5).sum(1, keepdim=True)


def sound(wave: torch.Tensor, window: torch.Tensor, bank: torch.Tensor) -> torch.Tensor:
    """Frames, a window, a filter bank, decibels, deltas."""
    frames = F.pad(wave, (8, 8)).unfold(-1, 16, 4) * window
    energy = (frames - 0.97 * frames.roll(1, -1)).square() @ bank
    level = 10 * torch.log10(energy.clamp_min(1e-10))
    level = torch.maximum(level, level.amax((-2, -1), keepdim=True) - 80)
    steps = level.diff(dim=1, prepend=level[:, :1])
    return torch.cat(
        [level, steps, F.avg_pool1d(level.transpose(1, 2), 3, 1, 1).transpose(1, 2)], -1
    )


def warped(image: torch.Tensor, flow: torch.Tensor) -> torch.Tensor:
    height, width = image.shape[-2:]
    rows = torch.linspace(-1, 1, height, device=image.device)
    columns = torch.linspace(-1, 1, width, device=image.device)
    grid = torch.stack(torch.meshgrid(rows, columns, indexing="ij")[::-1], -1) + flow
    edges = F.pad(image, (1, 1, 1, 1), mode="replicate")
    return (
        F.grid_sample(image, grid, align_corners=False)
        + edges[..., 2:, 1:-1]
        - edges[..., :-2, 1:-1]
    )


def kalman(state: torch.Tensor, seen: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
    for _ in range(3):
        gain = noise / (noise + torch.exp(-state.square()))
        state = torch.addcmul(state, gain, seen - torch.tanh(state)).nan_to_num(0.0, 5.0, -5.0)
        noise = torch.where(gain > 0.5, (1 - gain) * noise, noise.clamp(0.1, 3))
    return torch.logaddexp(state, noise) + torch.xlogy(noise, noise.abs() + 1) - torch.erf(state)


def sampled(logits: torch.Tensor) -> _Tensors:
    """Tokens drawn from the most likely ones, by a cut of their cumulative probability."""
    ordered, places = torch.sort(logits / 0.8, -1, descending=True)
    ahead = ordered.softmax(-1).cumsum(-1)
    kept = ordered.masked_fill(ahead - ordered.softmax(-1) > 0.9, float("-inf"))
    noise = -torch.log(torch.rand_like(kept).clamp_min(1e-9))
    chosen = (kept.softmax(-1) / noise).argmax(-1, keepdim=True)
    return places.gather(-1, chosen), torch.bincount(places[:, 0], minlength=4)


def hashed(keys: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    mixed = keys * 40503
    mixed = (mixed ^ (mixed >> 7)) * 2654435
    slots = torch.remainder(mixed, table.shape[0])
    return table.index_select(0, slots) + torch.fmod(keys, 7)[:, None] * (~keys & 1)[:, None]


def physics(x: torch.Tensor, v: torch.Tensor) -> _Tensors:
    """Particles in a box: all pairs, forces, walls that throw back."""
    apart = x[:, None] - x[None]
    away = apart.square().sum(-1) + 0.01
    force = (apart * (1 / away**3 - 0.5 / away.pow(2))[..., None]).sum(1)
    v = v + 0.01 * force
    x = x + 0.01 * v
    out = (x < 0) | (x > 1)
    angle = torch.atan2(v[:, 1], v[:, 0])
    return torch.where(out, 2 * x.round() - x, x), torch.where(out, -v, v), torch.hypot(x, v), angle


def floats(*shapes: tuple[int, ...]) -> Callable[[str], _Tensors]:
    return lambda device: tuple(torch.randn(shape, device=device) for shape in shapes)


def _classes(device: str) -> _Tensors:
    return torch.randn(18, 9, device=device), torch.randint(0, 9, (18,), device=device)


def _graph(device: str) -> _Tensors:
    return (torch.randn(12, 10, device=device), torch.randint(0, 12, (2, 40), device=device),
            torch.randn(10, 20, device=device))  # fmt: skip


def _bags(device: str) -> _Tensors:
    return (torch.randn(30, 8, device=device), torch.randint(0, 30, (5, 6), device=device),
            torch.rand(5, 6, device=device))  # fmt: skip


def _eights(device: str) -> _Tensors:
    return (torch.randn(10, 24, device=device),
            torch.randint(-99, 99, (20, 24), device=device, dtype=torch.int8),
            torch.rand(20, device=device) / 50)  # fmt: skip


def _bytes(device: str) -> _Tensors:
    return (torch.randint(0, 255, (6, 40), device=device, dtype=torch.uint8),
            torch.randint(0, 15, (6, 1), device=device, dtype=torch.int8))  # fmt: skip


def _keys(device: str) -> _Tensors:
    return torch.randint(0, 9999, (70,), device=device), torch.randn(16, 4, device=device)


Written = tuple[str, Callable[..., object], Callable[[str], _Tensors], bool]
"""Its name, what it computes, its arguments on a device, and whether it is trained."""

_PROGRAMS: tuple[Written, ...] = (
    ("focal", focal, _classes, True),
    ("smoothed", smoothed, _classes, True),
    ("contrastive", contrastive, floats((14, 20), (14, 20)), True),
    ("robust", robust, floats((11, 30), (11, 30)), True),
    ("boxes", boxes, floats((9, 4), (13, 4)), False),
    ("anchors", anchors, floats((36, 4), (36,)), False),
    ("messages", messages, _graph, True),
    ("bag", bag, _bags, True),
    ("selective", selective, floats((3, 40, 6), (3, 40, 6), (6,)), True),
    ("extremes", extremes, floats((7, 50)), False),
    ("quantised", quantised, _eights, False),
    ("packed", packed, _bytes, False),
    ("sound", sound, floats((2, 96), (16,), (16, 12)), True),
    ("warped", warped, floats((2, 3, 10, 10), (2, 10, 10, 2)), True),
    ("kalman", kalman, floats((9, 33), (9, 33), (9, 33)), True),
    ("sampled", sampled, floats((4, 50)), False),
    ("hashed", hashed, _keys, False),
    ("physics", physics, floats((20, 2), (20, 2)), False),
)
_AGAIN = (torch.bfloat16, torch.float16, torch.float64)


def programs() -> list[Program]:
    return both_of_each("small", _PROGRAMS)


def both_of_each(family: str, written: Sequence[Written]) -> list[Program]:
    """Each as it is, and once more: with another dtype or with dynamic shapes, by turns."""
    found = []
    for place, (name, function, inputs, train) in enumerate(written):
        dtype = _AGAIN[place // 2 % 3] if place % 2 == 0 else None
        again = f"{name}-{str(dtype)[6:]}" if dtype is not None else f"{name}-dynamic"
        found.append(Program(f"{family}-{name}", _maker(function, inputs, train, None, None)))
        found.append(
            Program(
                f"{family}-{again}", _maker(function, inputs, train, dtype, dtype is None or None)
            )
        )
    return found


def _maker(
    function: Callable[..., object],
    inputs: Callable[[str], _Tensors],
    train: bool,
    dtype: torch.dtype | None,
    dynamic: bool | None,
) -> Callable[[str], list[Case]]:
    def make(device: str) -> list[Case]:
        given = tuple(
            x.to(dtype or x.dtype).requires_grad_(train) if x.is_floating_point() else x
            for x in inputs(device)
        )
        return [Case(function, given, train=train, dynamic=dynamic)]

    return make
