"""Answers for the memory page."""
