"""Differences between the ranks of one job, and which rank comes late."""
