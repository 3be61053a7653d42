"""Finds out who sends a request, and what they may do."""
