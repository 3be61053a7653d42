"""Runs `nvdisasm` on compiled kernels, with limits, and keeps what it prints."""
