"""Searches for the smallest program that fails."""
