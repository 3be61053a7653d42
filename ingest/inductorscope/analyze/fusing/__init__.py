"""Calls that share memory and are not one kernel, and why; loops that are not vectorised."""
