"""Answers that analyse uploaded texts, computed in child processes with limits."""
