# mypy: allow-subclassing-any
"""Models that the capture tests run. Imported by the capture's child only."""

import time
from typing import Any

import torch
import torch.nn.functional as F


def negate_badly(x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
    return torch.maximum(x2, torch.neg(x1))


def uncompilable() -> tuple[Any, tuple[Any, ...]]:
    """The tutorial's accident: the code generator writes C++ that is none."""
    from torch._inductor.codegen import cpp

    for overrides in (cpp.CppOverrides, cpp.CppVecOverrides):
        overrides.neg = staticmethod(lambda x: f"no_such_function({x})")
    return negate_badly, (torch.rand(8), torch.rand(64, 8))


class Everything(torch.nn.Module):
    """Reductions, masks, gathers, scans, casts and random numbers, forward and backward."""

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Embedding(100, 48)
        self.norm = torch.nn.LayerNorm(48)

    def forward(self, ids: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        h = self.norm(self.table(ids)) + x
        h = F.dropout(F.gelu(h), 0.1)
        h = F.pad(h, (1, 2), value=0.5).to(torch.bfloat16)
        scores = torch.softmax(h.float(), -1)
        pooled = F.max_pool1d(scores, 3, 2)
        return torch.cumsum(pooled, -1).var(dim=-1)


def without_compilers() -> tuple[Any, tuple[Any, ...]]:
    """Code is generated as ever, but no C++ is compiled: kernels do nothing."""
    from torch._inductor.async_compile import AsyncCompile

    AsyncCompile.cpp_pybinding = lambda self, *_: lambda *_: None
    return Everything(), (torch.randint(100, (4, 30)), torch.rand(4, 30, 48))


def with_remainders() -> tuple[Any, tuple[Any, ...]]:
    """Loops of 13 over 37, which vectors of 8 do not divide, and two reductions over them."""
    from torch._inductor.async_compile import AsyncCompile

    AsyncCompile.cpp_pybinding = lambda self, *_: lambda *_: None

    def model(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = torch.sin(x) * 2
        return y, torch.softmax(x, -1), (x * y).sum(0)

    return model, (torch.rand(37, 13),)


def text_arguments(size: str, train: bool) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    print("made with", size, train)
    return torch.add, (torch.rand(int(size)),), {"other": torch.ones(int(size))}


def broken() -> None:
    raise RuntimeError("the weights are gone")


def no_model() -> int:
    return 3


def sleeping() -> tuple[Any, tuple[Any, ...]]:
    time.sleep(60)
    return torch.neg, (torch.rand(3),)


if __name__ == "__main__":
    import atexit
    import sys
    import threading

    print("arguments", sys.argv[1:])
    atexit.register(print, "last words")
    compiled = torch.compile(negate_badly, backend="eager")
    compiled(torch.rand(8), torch.rand(64, 8))
    threading.Timer(0.5, lambda: print("a thread's end")).start()
