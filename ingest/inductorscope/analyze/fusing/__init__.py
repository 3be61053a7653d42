"""Pairs of calls that share memory but were not fused, and why; loops that are not vectorised."""
