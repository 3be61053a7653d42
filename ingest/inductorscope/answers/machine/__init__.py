"""What Triton compiled of a kernel, beside its source and in figures."""
