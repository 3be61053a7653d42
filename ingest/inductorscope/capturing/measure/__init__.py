"""Runs captured programs again in fresh processes, in turns, to tell which one is slower."""
