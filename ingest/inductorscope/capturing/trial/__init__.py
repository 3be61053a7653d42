"""Tries changes to a program: what they do to its code, its time and its results."""
