"""Writing a run and its parts."""
