"""Writes and reads runs and their parts."""
