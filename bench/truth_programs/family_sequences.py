# mypy: allow-subclassing-any
"""Whole models of sequences, tables and graphs, written to judge the engine."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

_Tensors = tuple[torch.Tensor, ...]


class GatedMlp(nn.Module):
    """Tokens mixed by a gate over places; the spectrum's real part before it."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.norm = nn.Embedding(50, 16), nn.LayerNorm(16)
        self.up, self.over, self.back = nn.Linear(16, 40), nn.Conv1d(11, 11, 1), nn.Linear(20, 16)
        self.inner, self.head = nn.LayerNorm(20), nn.Linear(16, 50)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens) * 4.0
        x = F.layer_norm(x + torch.fft.fft2(x.float()).real.to(x.dtype), (16,))
        u, v = F.gelu(self.up(self.norm(x)), approximate="tanh").chunk(2, -1)
        x = x + self.back(u * (self.over(self.inner(v)) + 1))
        return F.nll_loss(self.head(x).log_softmax(-1).flatten(0, 1), tokens.flatten())


class Selective(nn.Module):
    """A state-space model: a causal convolution, steps from the data, a scan step by step."""

    def __init__(self, width: int = 12, states: int = 4) -> None:
        super().__init__()
        self.states, self.into = states, nn.Linear(width, 4 * width, bias=False)
        self.conv = nn.Conv1d(2 * width, 2 * width, 3, padding=2, groups=2 * width)
        self.from_x = nn.Linear(2 * width, 2 * states + 3, bias=False)
        self.step = nn.Linear(3, 2 * width)
        self.rate = nn.Parameter(torch.log(torch.arange(1.0, states + 1).repeat(2 * width, 1)))
        self.skip, self.out = nn.Parameter(torch.ones(2 * width)), nn.Linear(2 * width, width)
        self.norm = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.norm
        y, z = self.into(y).chunk(2, -1)
        y = F.silu(self.conv(y.transpose(1, 2))[..., : x.shape[1]].transpose(1, 2))
        step, b, c = self.from_x(y).split([3, self.states, self.states], -1)
        step = F.softplus(self.step(step))
        kept = torch.exp(step[..., None] * -torch.exp(self.rate))
        new = step[..., None] * b[:, :, None] * y[..., None]
        state, out = torch.zeros_like(new[:, 0]), []
        for i in range(x.shape[1]):
            state = kept[:, i] * state + new[:, i]
            out.append((state * c[:, i, None]).sum(-1))
        y = torch.stack(out, 1) + y * self.skip
        return x + self.out(y * F.silu(z))


class Retention(nn.Module):
    """Retention in parallel: decays by head, group norm, a gate; and time mixed by a shift."""

    def __init__(self, width: int = 24, heads: int = 3) -> None:
        super().__init__()
        self.heads, self.mix = heads, nn.Parameter(torch.rand(3, width))
        self.qkv = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(3))
        self.gate, self.out = nn.Linear(width, width), nn.Linear(width, width)
        self.norm, self.key = nn.GroupNorm(heads, width), nn.Linear(width, 2 * width)
        self.value = nn.Linear(2 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, t, c = x.shape
        before = F.pad(x, (0, 0, 1, -1))
        mixed = [torch.lerp(before, x, self.mix[i]) for i in range(3)]
        q, k, v = (
            layer(y).view(b, t, self.heads, -1).transpose(1, 2)
            for layer, y in zip(self.qkv, mixed, strict=True)
        )
        decay = torch.log(1 - 2.0 ** (-5 - torch.arange(self.heads, device=x.device)))
        at = torch.arange(t, device=x.device)
        apart = (at[:, None] - at).to(decay.dtype)
        mask = torch.exp(apart * decay[:, None, None]).masked_fill(apart < 0, 0).to(x.dtype)
        y = (q @ k.transpose(-1, -2) * mask / math.sqrt(c / self.heads)) @ v
        y = self.norm(y.transpose(1, 2).reshape(b * t, c)).view(b, t, c)
        x = x + self.out(y * F.silu(self.gate(x)))
        return x + torch.sigmoid(x) * self.value(F.relu(self.key(before)).square())


class Mixture(nn.Module):
    """A mixture of experts of fixed capacity, dispatched by one-hot products, shared expert."""

    def __init__(self, width: int = 16, many: int = 4) -> None:
        super().__init__()
        self.many, self.gate = many, nn.Linear(width, many, bias=False)
        self.up = nn.Parameter(torch.randn(many, width, 24) * 0.1)
        self.down = nn.Parameter(torch.randn(many, 24, width) * 0.1)
        self.shared = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> _Tensors:
        share = self.gate(x).softmax(-1, dtype=torch.float32)
        best, which = share.max(-1)
        chosen = F.one_hot(which, self.many)
        place = (chosen.cumsum(0) * chosen - 1).amax(-1)
        kept = place < 6
        spot = F.one_hot(place.clamp(0, 5), 6) * kept[:, None]
        send = (chosen[:, :, None] * spot[:, None]).to(x.dtype)
        given = torch.einsum("tec,td->ecd", send, x)
        made = torch.bmm(F.gelu(torch.bmm(given, self.up)), self.down)
        back = torch.einsum("tec,ecd->td", send * best[:, None, None].to(x.dtype), made)
        load = self.many * (chosen.float().mean(0) * share.mean(0)).sum()
        crowd = torch.logsumexp(self.gate(x).float(), -1).square().mean()
        return x + back + self.shared(x), load + 1e-3 * crowd


class Recommender(nn.Module):
    """Bags of categories beside numbers; pairwise products, deep and wide."""

    def __init__(self) -> None:
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(n, 8, mode="sum") for n in (20, 30, 10))
        self.low, self.wide = nn.Linear(5, 8), nn.Linear(5, 1)
        self.high, self.norm, self.out = nn.Linear(14, 12), nn.BatchNorm1d(12), nn.Linear(12, 1)

    def forward(
        self, numbers: torch.Tensor, places: torch.Tensor, click: torch.Tensor
    ) -> torch.Tensor:
        low = F.relu(self.low(torch.log1p(numbers.abs())))
        rows = [bag(places[:, i] % bag.num_embeddings) for i, bag in enumerate(self.bags)]
        every = torch.stack([low, *rows], 1)
        pairs = torch.bmm(every, every.transpose(1, 2))
        i, j = torch.tril_indices(4, 4, -1, device=numbers.device)
        x = torch.cat([low, pairs[:, i, j]], 1)
        logit = self.out(F.relu(self.norm(self.high(x)))) + self.wide(numbers)
        second = 0.5 * (every.sum(1).square() - every.square().sum(1)).sum(-1)
        return F.binary_cross_entropy_with_logits(logit[:, 0] + second, click)


class Molecule(nn.Module):
    """A graph network: radial bases, messages over edges, a soft maximum, a sum per graph."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.filter = nn.Embedding(9, 12), nn.Linear(10, 12)
        self.send, self.score = nn.Linear(12, 12, bias=False), nn.Linear(24, 1)
        self.cell, self.out = nn.GRUCell(12, 12), nn.Linear(12, 1)

    def forward(
        self, kind: torch.Tensor, at: torch.Tensor, edges: torch.Tensor, whose: torch.Tensor
    ) -> torch.Tensor:
        source, target = edges[0], edges[1]
        far = (at[source] - at[target]).norm(dim=-1).clamp(min=1e-3)
        centres = torch.linspace(0, 5, 10, device=at.device)
        wave = torch.exp(-2.0 * (far[:, None] - centres) ** 2)
        near = 0.5 * (torch.cos(far * math.pi / 5) + 1) * (far < 5)
        x = self.embed(kind)
        for _ in range(2):
            weight = self.filter(wave) * near[:, None]
            both = torch.cat([x[source], x[target]], -1)
            score = F.leaky_relu(self.score(both)[:, 0], 0.2)
            top = torch.zeros(x.shape[0], device=at.device).index_reduce(0, target, score, "amax")
            share = torch.exp(score - top[target])
            total = torch.zeros_like(top).scatter_add(0, target, share)
            sent = self.send(x)[source] * weight * (share / (total[target] + 1e-9))[:, None]
            x = self.cell(torch.zeros_like(x).index_add(0, target, sent), x)
        each = torch.zeros(3, 1, device=at.device)
        return each.index_add(0, whose, self.out(F.softplus(x) - math.log(2)))


class Wave(nn.Module):
    """Samples of sound: mu-law, causal dilated convolutions, gates, skips, a loss over levels."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv1d(32, 12, 2)
        self.both = nn.ModuleList(nn.Conv1d(12, 24, 2, dilation=2**i) for i in range(3))
        self.skip = nn.ModuleList(nn.Conv1d(12, 16, 1) for _ in range(3))
        self.stay = nn.ModuleList(nn.Conv1d(12, 12, 1) for _ in range(3))
        self.last = nn.Conv1d(16, 32, 1)

    def forward(self, wave: torch.Tensor) -> torch.Tensor:
        loud = torch.sign(wave) * torch.log1p(31 * wave.abs().clamp(max=1)) / math.log(32)
        level = ((loud + 1) / 2 * 31 + 0.5).floor().long().clamp(0, 31)
        x = F.one_hot(level, 32).transpose(1, 2).to(self.last.weight.dtype)
        x = self.first(F.pad(x[..., :-1], (2, 0)))
        total: torch.Tensor | float = 0.0
        for i in range(3):
            left, right = self.both[i](F.pad(x, (2**i, 0))).chunk(2, 1)
            y = torch.tanh(left) * torch.sigmoid(right)
            total = total + self.skip[i](y)
            x = (x + self.stay[i](y)) * math.sqrt(0.5)
        return F.cross_entropy(self.last(F.relu(total)), level)


class Variational(nn.Module):
    """Encoder, a drawn code, decoder, divergence with free bits; then a quantised code."""

    def __init__(self) -> None:
        super().__init__()
        self.into, self.out = nn.Linear(30, 20), nn.Linear(8, 30)
        self.code, self.book = nn.Linear(20, 16), nn.Embedding(12, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mean, spread = self.code(F.elu(self.into(x))).chunk(2, -1)
        spread = spread.clamp(-6, 3)
        z = mean + torch.exp(0.5 * spread) * torch.randn_like(spread)
        away = -0.5 * (1 + spread - mean.pow(2) - spread.exp())
        apart = (
            z.pow(2).sum(1, True) - 2 * z @ self.book.weight.t() + self.book.weight.pow(2).sum(1)
        )
        code = self.book(apart.argmin(1))
        commit = F.mse_loss(code.detach(), z) * 0.25 + F.mse_loss(code, z.detach())
        seen = self.out(z + (code - z).detach())
        wrong = F.binary_cross_entropy_with_logits(seen, x.sigmoid(), reduction="none").sum(1)
        return (wrong + away.mean(0).clamp(min=0.1).sum()).mean() + commit


class Coupling(nn.Module):
    """A flow of affine couplings, turned channels and activation norms, to a likelihood."""

    def __init__(self) -> None:
        super().__init__()
        self.shift, self.scale = nn.Parameter(torch.zeros(3, 6)), nn.Parameter(torch.ones(3, 6))
        self.turn = nn.ParameterList(torch.linalg.qr(torch.randn(6, 6))[0] for _ in range(3))
        self.nets = nn.ModuleList(
            nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 6)) for _ in range(3)
        )

    def forward(self, x: torch.Tensor) -> _Tensors:
        volume = torch.zeros(x.shape[0], device=x.device, dtype=x.dtype)
        for i in range(3):
            x = (x + self.shift[i]) * self.scale[i]
            x = x @ self.turn[i]
            left, right = x.chunk(2, 1)
            shift, scale = self.nets[i](left).chunk(2, 1)
            scale = torch.sigmoid(scale + 2) + 1e-3
            x = torch.cat([left, (right + shift) * scale], 1).flip(1)
            volume = volume + scale.log().sum(1) + self.scale[i].abs().log().sum()
        likely = -0.5 * (x**2 + math.log(2 * math.pi)).sum(1) + volume
        return -likely.mean() / math.log(2), x


class Queries(nn.Module):
    """Queries look at a picture; boxes and classes, an overlap loss with given partners."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.eyes, self.queries = nn.Conv2d(3, width, 4, 4), nn.Embedding(6, width)
        self.own = nn.MultiheadAttention(width, 2, dropout=0.1, batch_first=True)
        self.look = nn.MultiheadAttention(width, 2, batch_first=True)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.a, self.b = nn.Linear(width, 32), nn.Linear(32, width)
        self.kind, self.box = nn.Linear(width, 5), nn.Linear(width, 4)

    def forward(self, x: torch.Tensor, boxes: torch.Tensor, kinds: torch.Tensor) -> torch.Tensor:
        seen = self.eyes(x)
        rows = torch.ones_like(seen[:, 0]).cumsum(1) / seen.shape[2] * 2 * math.pi
        rates = 100 ** (2 * (torch.arange(8, device=x.device) // 2) / 8)
        place = rows[..., None] / rates
        place = torch.stack((place[..., 0::2].sin(), place[..., 1::2].cos()), 4).flatten(3)
        seen = (seen + torch.cat([place, place.transpose(1, 2)], 3).permute(0, 3, 1, 2)).flatten(2)
        seen = seen.transpose(1, 2)
        q = self.queries.weight[None].expand(x.shape[0], -1, -1)
        y = self.norms[0](q + self.own(q, q, q, need_weights=False)[0])
        y = self.norms[1](y + self.look(y, seen, seen)[0])
        y = self.norms[2](y + self.b(F.relu(self.a(y))))
        ours = self.box(y).sigmoid()
        a, b = (torch.cat([v[..., :2] - v[..., 2:] / 2, v[..., :2] + v[..., 2:] / 2], -1)
                for v in (ours, boxes.sigmoid()))  # fmt: skip
        inner = (torch.min(a[..., 2:], b[..., 2:]) - torch.max(a[..., :2], b[..., :2])).clamp(0)
        outer = torch.max(a[..., 2:], b[..., 2:]) - torch.min(a[..., :2], b[..., :2])
        shared = inner.prod(-1)
        union = (a[..., 2:] - a[..., :2]).prod(-1) + (b[..., 2:] - b[..., :2]).prod(-1) - shared
        loss = 1 - shared / union + (outer.prod(-1) - union) / outer.prod(-1)
        weight = torch.ones(5, device=x.device)
        weight[4] = 0.1
        return (
            F.cross_entropy(self.kind(y).transpose(1, 2), kinds, weight)
            + loss.mean()
            + F.l1_loss(ours, boxes)
        )


class Contrasted(nn.Module):
    """Words and pictures into one space; a temperature; the loss both ways."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(40, width), nn.Parameter(torch.randn(7, width))
        self.layer = nn.TransformerEncoderLayer(
            width, 2, 24, 0.1, "gelu", norm_first=True, batch_first=True
        )
        self.eyes, self.see = nn.Conv2d(3, width, 4, 4), nn.Linear(width, 12, bias=False)
        self.read, self.heat = nn.Linear(width, 12, bias=False), nn.Parameter(torch.tensor(2.6))

    def forward(self, image: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        ahead = torch.full((7, 7), float("-inf"), device=image.device).triu_(1)
        x = self.layer(self.words(tokens) + self.places, ahead)
        x = F.layer_norm(x, x.shape[-1:])[torch.arange(len(x), device=x.device), tokens.argmax(-1)]
        y = self.eyes(image).flatten(2).mean(-1)
        x, y = self.read(x), self.see(y * torch.sigmoid(1.702 * y))
        x, y = x / x.norm(dim=1, keepdim=True), y / y.norm(dim=1, keepdim=True)
        scores = self.heat.clamp(max=4.6).exp() * x @ y.t()
        same = torch.arange(len(x), device=x.device)
        sign = 2 * torch.eye(len(x), device=x.device) - 1
        pairs = -F.logsigmoid(sign * scores).sum(-1).mean()
        return (F.cross_entropy(scores, same) + F.cross_entropy(scores.t(), same)) / 2 + pairs


class Conformer(nn.Module):
    """Half steps, attention by relative places, a gated convolution, alignment-free loss."""

    def __init__(self, width: int = 16, heads: int = 2) -> None:
        super().__init__()
        self.heads, self.place = heads, nn.Linear(width, width, bias=False)
        self.ff = nn.ModuleList(
            nn.Sequential(
                nn.LayerNorm(width), nn.Linear(width, 32), nn.SiLU(), nn.Linear(32, width)
            )
            for _ in range(2)
        )
        self.norm, self.qkv = nn.LayerNorm(width), nn.Linear(width, 3 * width)
        self.u, self.v = (nn.Parameter(torch.randn(heads, width // heads)) for _ in range(2))
        self.point, self.back = nn.Conv1d(width, 2 * width, 1), nn.Conv1d(width, width, 1)
        self.depth = nn.Conv1d(width, width, 5, padding=2, groups=width)
        self.batch, self.last = nn.BatchNorm1d(width), nn.LayerNorm(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + 0.5 * self.ff[0](x)
        b, t, c = x.shape
        q, k, v = self.qkv(self.norm(x)).view(b, t, 3, self.heads, -1).unbind(2)
        at = torch.arange(t - 1, -t, -1.0, device=x.device, dtype=x.dtype)
        rates = torch.exp(torch.arange(0, c, 2.0, device=x.device) * -(math.log(1e4) / c))
        waves = torch.zeros(2 * t - 1, c, device=x.device, dtype=x.dtype)
        waves[:, 0::2] = torch.sin(at[:, None] * rates)
        waves[:, 1::2] = torch.cos(at[:, None] * rates)
        p = self.place(waves).view(-1, self.heads, c // self.heads)
        near = torch.einsum("bthd,bshd->bhts", q + self.u, k)
        far = torch.einsum("bthd,shd->bhts", q + self.v, p)
        far = F.pad(far, (1, 0)).view(b, self.heads, -1, t)[:, :, 1:].view_as(far)[..., :t]
        weight = ((near + far) / math.sqrt(c / self.heads)).softmax(-1)
        x = x + torch.einsum("bhts,bshd->bthd", weight, v).reshape(b, t, c)
        y = F.glu(self.point(x.transpose(1, 2)), 1)
        y = self.back(F.silu(self.batch(self.depth(y)))).transpose(1, 2)
        x = x + F.dropout(y, 0.1, self.training)
        return self.last(x + 0.5 * self.ff[1](x))


class Translator(nn.Module):
    """An encoder of LSTM cells, a decoder that attends over what they said."""

    def __init__(self, width: int = 12) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(20, width), nn.Embedding(20, width)
        self.read, self.write = nn.LSTMCell(width, width), nn.LSTMCell(2 * width, width)
        self.ask, self.say = nn.Linear(width, width), nn.Linear(2 * width, 20)
        self.score = nn.Linear(width, 1)

    def forward(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        first, *words = self.source(source).unbind(1)
        h, c = self.read(first)
        told = [h]
        for word in words:
            h, c = self.read(word, (h, c))
            told.append(h)
        heard = torch.stack(told, 1)
        silent = (source == 0)[..., None]
        loss = heard.new_zeros(())
        for i in range(target.shape[1] - 1):
            score = self.score(torch.tanh(heard + self.ask(h)[:, None])).masked_fill(silent, -1e9)
            context = (score.softmax(1) * heard).sum(1)
            h, c = self.write(torch.cat([self.target(target[:, i]), context], -1), (h, c))
            logits = self.say(torch.cat([h, context], -1))
            loss = loss + F.cross_entropy(logits, target[:, i + 1], ignore_index=0)
        return loss / (target.shape[1] - 1)


class Cached(nn.Module):
    """A step of a decoder: rotary places, grouped heads, keys and values kept in place."""

    def __init__(self, width: int = 32, heads: int = 4) -> None:
        super().__init__()
        self.heads, self.embed = heads, nn.Embedding(60, width)
        self.qkv, self.out = nn.Linear(width, 2 * width, bias=False), nn.Linear(width, width)
        self.gate_up, self.down = nn.Linear(width, 96, bias=False), nn.Linear(48, width, bias=False)
        self.norms = nn.ModuleList(nn.RMSNorm(width, eps=1e-6) for _ in range(3))
        self.head_norm = nn.RMSNorm(8)
        self.register_buffer("keys", torch.zeros(2, 2, 20, 8))
        self.register_buffer("values", torch.zeros(2, 2, 20, 8))

    def turned(self, x: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        rates = 1.0 / (10000 ** (torch.arange(0, 8, 2, device=x.device).float() / 8))
        angle = torch.outer(at.float(), rates)
        pairs = x.float().unflatten(-1, (-1, 2))
        cos, sin = angle.cos(), angle.sin()
        a, b = pairs[..., 0], pairs[..., 1]
        return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2).type_as(x)

    def forward(self, tokens: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens)
        b, t, _ = x.shape
        q, k, v = self.qkv(self.norms[0](x)).split([32, 16, 16], -1)
        q, k, v = (y.view(b, t, -1, 8).transpose(1, 2) for y in (q, k, v))
        q, k = self.turned(self.head_norm(q), at), self.turned(self.head_norm(k), at)
        keys, values = self.keys.clone(), self.values.clone()
        keys[:, :, at], values[:, :, at] = k, v
        mask = torch.arange(20, device=x.device)[None] <= at[:, None]
        keys, values = (
            y[:, :, None].expand(-1, -1, 2, -1, -1).flatten(1, 2) for y in (keys, values)
        )
        y = F.scaled_dot_product_attention(q, keys, values, attn_mask=mask)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        gate, up = self.gate_up(self.norms[1](x)).chunk(2, -1)
        logits = F.linear(self.norms[2](x + self.down(F.silu(gate) * up))[:, -1], self.embed.weight)
        logits = 30 * torch.tanh(logits.float() / 30)
        top = logits.topk(5, -1).values[:, -1:]
        return logits.masked_fill(logits < top, float("-inf")).softmax(-1)


class Eights(nn.Module):
    """A network in eight bits: convolutions and sums between scales and zero points."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("w", torch.randint(-127, 127, (12, 8), dtype=torch.int8))
        self.register_buffer("v", torch.randint(-127, 127, (12, 12), dtype=torch.int8))
        self.register_buffer("scales", torch.rand(2, 12) / 100 + 0.001)

    def layer(self, x: torch.Tensor, w: torch.Tensor, i: int) -> torch.Tensor:
        q = torch.clamp(torch.round(x / 0.02) + 128, 0, 255).to(torch.uint8)
        y = (q.to(torch.int32) - 128).to(x.dtype) @ (w.to(x.dtype) * self.scales[i][:, None]).t()
        return y * 0.02

    def forward(self, x: torch.Tensor) -> _Tensors:
        x = F.relu6(self.layer(x, self.w, 0))
        y = self.layer(x, self.v, 1)
        low, high = torch.aminmax(y, dim=-1, keepdim=True)
        step = (high - low).clamp_min(1e-6) / 15
        q = ((y - low) / step).round().to(torch.uint8)
        packed = q[:, ::2] | (q[:, 1::2] << 4)
        again = torch.stack([packed & 15, packed >> 4], -1).flatten(1).to(y.dtype) * step + low
        return packed, x + again, (again - y).abs().amax()
