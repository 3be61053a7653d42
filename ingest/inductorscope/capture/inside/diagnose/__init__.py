"""Diagnoses of captured programs, one module a kind. Imported only in a child process."""
