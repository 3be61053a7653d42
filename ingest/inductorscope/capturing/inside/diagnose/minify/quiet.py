"""Sets options for compiling many small graphs in a row."""

from __future__ import annotations


def be_quiet() -> None:
    """Disables debug folders and caches of graphs, and draws random numbers as eager does, because
    otherwise graphs that draw would differ without a fault."""
    import torch._functorch.config
    from torch._inductor import config

    config.trace.enabled = False
    config.fx_graph_cache = False
    config.fallback_random = True
    torch._functorch.config.enable_autograd_cache = False
