"""Matches two runs: graphs, FX nodes and kernels that mean the same, and how one run's time became
the other's. Pure: from records to pairs and figures that sum."""
