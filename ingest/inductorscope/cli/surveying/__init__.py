"""Surveys: reads a matrix and compiles its cells."""
