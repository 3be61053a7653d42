"""Small programs, and the regressions that the compile contract must catch.

Each is rebuilt from what was reported of a public project. `after` replaces `before` in the text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

HEAD = """\
import torch
import torch.nn.functional as F


"""


@dataclass(frozen=True)
class Regression:
    """A program, the edit that makes its compile worse, and the count that shows it."""

    name: str
    reported: str
    text: str
    before: str
    after: str
    count: str
    options: dict[str, Any] = field(default_factory=dict)
    gpu: bool = False
    """Whether it happens on a GPU alone."""

    def program(self, worse: bool) -> str:
        assert self.before in self.text
        return HEAD + (self.text.replace(self.before, self.after) if worse else self.text)


BLOCK = """\
def block(x, w):
    h = F.layer_norm(x, (64,))
    h = h @ w
    h = F.gelu(h)
    return x + h * 0.5


def make():
    return block, (torch.randn(32, 64), torch.randn(64, 64))
"""
VECTORS = {"config": {"cpp.simdlen": "None"}}

REGRESSIONS = (
    Regression(
        "break added", "TabPFN: 43 fragments where there had been 2",
        BLOCK, "    h = F.gelu(h)\n", "    h = F.gelu(h)\n    print(h.shape)\n", "breaks",
    ),
    Regression(
        "fusion lost", "vLLM: a fusion's matches went from 1 to 0 between nightlies",
        BLOCK, "    return x + h * 0.5\n", "    return (x + h * 0.5).cumsum(0).mul(2.0)\n",
        "kernels",
    ),
    Regression(
        "recompile storm", "diffusers: each resolution compiles again",
        BLOCK, "    h = F.gelu(h)\n", "    h = F.gelu(h) * (1 if x.shape[0] % 7 else 2)\n",
        "recompiles",
        {"shapes": "x=(40,64),(48,64),(49,64),(56,64)"},
    ),
    Regression(
        "CUDA graph skipped", "a model whose graphs were silently skipped after an update",
        BLOCK, "    return x + h * 0.5\n", "    x.add_(h)\n    return x * 0.5\n",
        "cuda_graphs_skipped",
        {"mode": "reduce-overhead", "device": "cuda",
         "config": {"triton.cudagraph_support_input_mutation": "False"}},
        gpu=True,
    ),
    Regression(
        "layout copy added", "a convolution whose input became contiguous before it",
        """\
def f(x, w):
    return x.transpose(1, 2) @ w


def make():
    return f, (torch.randn(4, 16, 32), torch.randn(4, 16, 16))
""",
        "x.transpose(1, 2) @ w", "x.transpose(1, 2).contiguous() @ w", "copies",
    ),
    Regression(
        "fallback", "an operator that lost its lowering",
        """\
def f(x):
    y = torch.sort(x * 2, dim=1).values if False else (x * 2).sin()
    return y + 1


def make():
    return f, (torch.randn(64, 64),)
""",
        "if False", "if True", "fallbacks",
    ),
    Regression(
        "dtype cast", "a norm that began to compute in float32",
        """\
def f(x):
    return (x.neg() * x).to(torch.bfloat16)


def make():
    return f, (torch.randn(64, 64, dtype=torch.bfloat16),)
""",
        "x.neg() * x", "x.neg().float() * x", "casts",
    ),
    Regression(
        "vectorisation lost", "an input that became interleaved",
        """\
def f(x):
    y = x[:, :64]
    return y.sin() + y.cos()


def make():
    return f, (torch.randn(64, 128),)
""",
        "x[:, :64]", "x[:, ::2]", "scalar_loops", VECTORS,
    ),
    Regression(
        "cache bypass", "a custom pass without an id made every start compile again",
        BLOCK, "def make():\n",
        "import torch._inductor.config\n\n"
        "torch._inductor.config.post_grad_custom_post_pass = lambda graph: None\n\n\n"
        "def make():\n",
        "cache_bypasses",
    ),
    Regression(
        "guard on a float", "a scale that changes with every step",
        """\
def f(x, scale):
    return x * 2.0


def make():
    return f, (torch.randn(64, 64), 0.5)
""",
        "x * 2.0", "x * (2.0 if scale > 0.25 else 3.0)", "guards",
    ),
    Regression(
        "reduction split", "a sum that became two loops",
        """\
def f(x):
    return x.exp().sum()


def make():
    return f, (torch.randn(64, 512),)
""",
        "x.exp().sum()", "x.exp().sum(1).sum()", "vector_loops", VECTORS,
    ),
    Regression(
        "extra collective", "a gradient that was reduced twice",
        """\
import torch.distributed as dist
import torch.distributed._functional_collectives as collectives
from torch.testing._internal.distributed.fake_pg import FakeStore


def f(x):
    y = collectives.all_reduce(x * 2, "sum", "0")
    return y + 1


def make():
    if not dist.is_initialized():
        dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)
    return f, (torch.randn(64, 64),)
""",
        "    return y + 1\n",
        '    return collectives.all_reduce(y, "sum", "0") + 1\n', "collectives",
    ),
)  # fmt: skip
