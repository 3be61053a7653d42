"""Answers for the search page."""
