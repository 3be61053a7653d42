"""Inductorscope: what TorchInductor did to a model, line by line.

This package reads, correlates and stores; it holds no web code. The pages live in
`inductorscope_server`. Nothing here imports torch except `inductorscope.capture.child`, which only
ever runs in a process of its own.
"""

__version__ = "0.1.0"
