"""Compiled forms of a kernel, next to its source and in figures."""
