"""Inductorscope: see what TorchInductor did to a model, line by line.

This package reads, correlates and stores; it contains no web code. The pages live in
`inductorscope_server`. Nothing here imports torch except the modules that
`inductorscope.capture.child` runs in a separate process.
"""

__version__ = "0.1.0"
