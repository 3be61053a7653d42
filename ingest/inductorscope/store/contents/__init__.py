"""Stored texts: compressed, kept once, searchable."""
