"""Failures: what failed, where, and what to do about it."""
