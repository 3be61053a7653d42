"""Answers for the list of runs and the pages of one run."""
