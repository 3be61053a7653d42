"""What two runs have in common: graphs, FX nodes and kernels that mean the same, and where the time
of one became that of the other. Pure: from records to pairs and figures that sum."""
