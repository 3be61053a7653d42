"""Profiler traces (Chrome trace JSON): events to columns."""
