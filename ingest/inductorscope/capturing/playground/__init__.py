"""Compiles what people type, each try in a process with limits."""
