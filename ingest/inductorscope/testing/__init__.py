"""Tests of compiles: the pytest plugin."""
