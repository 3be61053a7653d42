"""Inductorscope: see what TorchInductor did to a model, line by line.

This package reads, correlates and stores; it contains no web code. The pages live in
`inductorscope_server`. Importing the package does not import torch; its functions import torch when
they are called.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inductorscope.api.capture import capture
    from inductorscope.api.explain import explain, load_ipython_extension
    from inductorscope.api.profiler import trace_handler

__all__ = ["capture", "explain", "load_ipython_extension", "trace_handler"]
__version__ = "0.2.0"

_MODULES = {
    "capture": "inductorscope.api.capture",
    "explain": "inductorscope.api.explain",
    "load_ipython_extension": "inductorscope.api.explain",
    "trace_handler": "inductorscope.api.profiler",
}
"""Functions for programs, each with its module, which is imported on first use."""


def __getattr__(name: str) -> Any:  # noqa: ANN401  # any function
    if name not in _MODULES:
        raise AttributeError(f"module 'inductorscope' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
