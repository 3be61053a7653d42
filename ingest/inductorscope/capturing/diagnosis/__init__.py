"""Runs a captured program again to diagnose it."""
