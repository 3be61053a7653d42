"""Runs programs that disassemble compiled kernels, with limits, and keeps their output."""
