"""Inductorscope: see what TorchInductor did to a model, line by line.

This package reads, correlates and stores; it contains no web code. The pages live in
`inductorscope_server`. Importing it imports no torch; `inductorscope.capture()` does when
it starts.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from inductorscope import capture

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:  # noqa: ANN401
    if name == "trace_handler":
        from inductorscope.api.profiler import trace_handler

        return trace_handler
    raise AttributeError(f"module 'inductorscope' has no attribute {name!r}")


class _Callable(ModuleType):
    """The package `inductorscope.capture` is a function too: `with inductorscope.capture():`."""

    def __call__(self, *args: Any, **options: Any) -> Any:  # noqa: ANN401
        from inductorscope.api.capture import capture

        return capture(*args, **options)


capture.__class__ = _Callable
