"""Judges whether a difference of times is real, from the times of fresh processes."""
