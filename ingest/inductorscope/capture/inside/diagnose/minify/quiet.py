"""Options for compiling one small graph after the other."""

from __future__ import annotations


def be_quiet() -> None:
    """No debug folders and no stored graphs; random numbers as eager draws them, since graphs that
    draw would otherwise differ without a fault."""
    import torch._functorch.config
    from torch._inductor import config

    config.trace.enabled = False
    config.fx_graph_cache = False
    config.fallback_random = True
    torch._functorch.config.enable_autograd_cache = False
