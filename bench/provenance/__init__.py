"""Torch's own provenance of kernels, beside our links and the recorded truth."""
