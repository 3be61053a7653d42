"""Answers for the explorer and for kernel pages."""
