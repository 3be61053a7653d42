"""Reads profiles and joins them to graphs."""
