"""Tensor values that kernels read and wrote."""
