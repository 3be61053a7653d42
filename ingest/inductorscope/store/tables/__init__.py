"""The tables, one model each."""
