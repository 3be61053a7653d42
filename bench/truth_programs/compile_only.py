"""Let Inductor generate all its code, but compile and run none of it.

What is recorded is made before a compiler sees the code, and compiling is what takes the time. The
graphs run as they are, eagerly, so that a backward graph gets real values.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._functorch.aot_autograd import make_boxed_func
from torch._inductor.async_compile import AsyncCompile
from torch._inductor.compile_fx import compile_fx, compile_fx_inner


class NoKernel:
    """Stands for a compiled kernel; nobody calls it."""


def compile_no_kernels() -> None:
    """From now on, in this process."""
    for name in ("cpp", "cpp_pybinding", "triton", "multi_kernel"):
        setattr(AsyncCompile, name, lambda self, *args, **kwargs: NoKernel())


def generate_only(graph: torch.fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
    """A back end for torch.compile."""
    compiled: Callable[..., Any] = compile_fx(graph, list(inputs), inner_compile=_generate)
    return compiled


def _generate(graph: torch.fx.GraphModule, inputs: Sequence[Any], **options: Any) -> Any:  # noqa: ANN401  # as torch calls it
    runs = torch.fx.GraphModule(graph, copy.deepcopy(graph.graph))
    compile_fx_inner(graph, inputs, **options)
    return make_boxed_func(runs.forward)
