"""Kernel text, C++ or Triton, to statements."""
