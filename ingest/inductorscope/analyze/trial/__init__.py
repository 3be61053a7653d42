"""Trials: what a change to a program did to its code, its time and its results."""
