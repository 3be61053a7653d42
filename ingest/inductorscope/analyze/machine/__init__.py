"""Findings in compiled kernels: what their instructions do, and for which lines."""
