"""Starts and ends child processes."""
