"""Runs captured programs again in fresh processes, in turns, to find out which one is slower."""
