"""Reads the logs of an upload into the database."""
