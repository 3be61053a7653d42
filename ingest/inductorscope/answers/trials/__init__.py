"""Trials of a run: the changes that were tried, and what each did."""
