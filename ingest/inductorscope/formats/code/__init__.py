"""Inductor's output code: kernels, calls and the wrapper's lines."""
