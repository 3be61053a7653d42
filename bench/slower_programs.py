"""A small program, and the same with one thing that makes it slower, for `bench.regressions`."""

from __future__ import annotations

import torch

ROWS, COLUMNS = 16384, 64
"""Of the input, on the CPU."""
WIDE_ROWS, WIDE_COLUMNS, LAYERS = 128, 8192, 24
"""On a GPU: many short kernels, which a CUDA graph starts faster than Python does, and rows so few
and wide that one warp takes long for each."""


class Program(torch.nn.Module):  # type: ignore[misc]  # torch is untyped here
    def __init__(self, slow: str) -> None:
        super().__init__()
        self.up, self.down = (torch.nn.Linear(COLUMNS, COLUMNS) for _ in range(2))
        self.slow, self.calls = slow, 0

    def forward(self, x: torch.Tensor, order: torch.Tensor, wide: torch.Tensor) -> torch.Tensor:
        taken = torch.cat([x] * 3)[:ROWS] if self.slow == "copy" else x
        y = torch.nn.functional.gelu(self.up(taken))
        if self.slow == "layout":
            y = y.t().contiguous().t()
        y = y.flatten()[order].view_as(x)
        match self.slow:
            case "cast":
                y = (y.double() * 1.5).sin().float()
            case "slower kernel":
                y = y.sin().cos().erf().sin().cos().erf()
            case "recompiles":
                self.calls += 1  # a guard on each value, until torch gives up
                y = y * self.calls / self.calls
        for _ in range(3):
            y = torch.nn.functional.layer_norm(y, (COLUMNS,)) + x
        y = torch.softmax(y, -1) * self.sums(wide)
        if self.slow == "layout":
            y = y.t().contiguous().t()
        return self.down(y) + x

    def sums(self, wide: torch.Tensor) -> torch.Tensor:
        """One loop over the input; with graph breaks, four. Written out, since torch compiles no
        Python loop that has a break."""
        total = wide.sum(-1, True)
        if self.slow == "graph break":
            torch._dynamo.graph_break()
        total = total + wide.abs().sum(-1, True)
        if self.slow == "graph break":
            torch._dynamo.graph_break()
        total = total + wide.square().sum(-1, True)
        if self.slow == "graph break":
            torch._dynamo.graph_break()
        return total + wide.relu().sum(-1, True)


class OnGpu(torch.nn.Module):  # type: ignore[misc]  # torch is untyped here
    def __init__(self, slow: str) -> None:
        super().__init__()
        self.mix = torch.nn.Parameter(torch.randn(LAYERS, WIDE_ROWS, WIDE_ROWS))
        self.slow = slow
        self.scale = torch.ones(())  # no buffer, so that it stays on the CPU

    def forward(self, y: torch.Tensor) -> torch.Tensor:
        if self.slow == "cudagraphs skipped":
            y = y * self.scale
        for mix in self.mix:
            y = torch.nn.functional.layer_norm(torch.nn.functional.gelu(mix @ y), (WIDE_COLUMNS,))
        return y


def program(slow: str, device: str) -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    torch.set_num_threads(1)  # two would wait for each other whenever something else runs
    if device == "cuda":
        if slow == "fewer warps":
            with_one_warp()
        return OnGpu(slow), (torch.randn(WIDE_ROWS, WIDE_COLUMNS),)
    size = ROWS * COLUMNS
    order = torch.randperm(size) if slow == "cache misses" else torch.arange(size)
    inputs = torch.randn(ROWS, COLUMNS), order, torch.randn(ROWS, 8 * COLUMNS)
    return Program(slow), inputs


def with_one_warp() -> None:
    """Makes Inductor choose one warp for each kernel."""
    from torch._inductor.runtime import triton_heuristics

    triton_heuristics._num_warps = lambda *given, **named: 1
