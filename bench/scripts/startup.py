"""A small program that starts with one change, which the environment variable PLANT names."""

from __future__ import annotations

import contextlib
import os

import torch
import torch._inductor.config as inductor
from torch import Tensor

plant = os.environ.get("PLANT", "")
options: dict[str, object] = {"dynamic": plant == "dynamic"}
shape = (65, 32) if plant == "shape" else (64, 32)
dtype = torch.bfloat16 if plant == "dtype" else torch.float32

match plant:
    case "config":
        inductor.max_fusion_size = 3
    case "cpp config":
        inductor.cpp.simdlen = 1
    case "functorch config":
        torch._functorch.config.activation_memory_budget = 0.5
    case "precision":
        torch.set_float32_matmul_precision("high")
    case "deterministic":
        torch.use_deterministic_algorithms(True)
    case "threads":
        torch.set_num_threads(torch.get_num_threads() + 1)
    case "default dtype":
        torch.set_default_dtype(torch.float64)
    case "pass without id":
        inductor.post_grad_custom_post_pass = lambda graph: None
    case "freezing":
        inductor.freezing = True
    case "cache off":
        inductor.fx_graph_cache = False
    case "mode":
        options["mode"] = "max-autotune-no-cudagraphs"
    case "options":
        options["options"] = {"epilogue_fusion": False}


def double(x: Tensor) -> Tensor:
    return x * 2


twice = torch.library.custom_op("mine::twice", double, mutates_args=())
twice.register_fake(torch.empty_like)


def f(x: Tensor, w: Tensor) -> Tensor:
    y = torch.relu(x @ w)
    if plant == "line":
        y = y + 1
    if plant == "constant":
        y = y * 3.5
    if plant == "custom op":
        y = twice(y)
    return torch.softmax(y, -1).sum(1)


def g(x: Tensor) -> Tensor:
    return torch.sin(x).cos() * 2


w = torch.randn(32, 16, dtype=dtype, requires_grad=plant == "grad")
x = torch.randn(*shape, dtype=dtype)
if plant == "stride":
    x = torch.randn(32, 64).t()
with contextlib.ExitStack() as modes:
    if plant == "autocast":
        modes.enter_context(torch.autocast("cpu", torch.bfloat16))
    if plant == "inference":
        modes.enter_context(torch.inference_mode())
    torch.compile(f, **options)(x, w)
    torch.compile(g, **options)(x)
