"""Captures an unchanged script: it runs in its own process, where a module observes it."""
