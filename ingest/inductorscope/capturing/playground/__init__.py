"""Compiles code that is typed in a browser, each try in a process with limits."""
