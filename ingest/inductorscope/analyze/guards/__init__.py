"""Recorded guards, evaluated for arguments that people name."""
