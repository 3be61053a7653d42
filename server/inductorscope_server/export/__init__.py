"""Exports pages as one HTML file that opens without a server; any server can read a whole run from
it."""
