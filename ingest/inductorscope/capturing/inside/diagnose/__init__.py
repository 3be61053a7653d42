"""Diagnoses of captured programs, one module per kind. Imported only in a child process."""
