"""Error messages of compilers, Triton, lowerings and Python."""
