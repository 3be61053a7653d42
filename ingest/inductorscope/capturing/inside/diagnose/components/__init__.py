"""Finds the component of the compiler that fails."""
