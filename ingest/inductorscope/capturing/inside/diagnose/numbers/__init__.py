"""Finds the node that computes the first wrong number."""
