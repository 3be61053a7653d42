"""Judges a kernel that somebody wrote against a run's kernel."""
