"""Readers of the files that torch writes: text to records. Pure: they start no process."""
