"""Stored contents: compressed, kept once, searchable."""
