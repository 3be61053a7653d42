"""Truth about which nodes and kernels of two compiles are the same, and the score of matching."""
