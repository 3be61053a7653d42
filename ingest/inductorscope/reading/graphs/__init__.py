"""Reads graphs: their texts, nodes, kernels and links."""
