"""Reads a folder of files into a run in the database: recognise, parse, link, join times, store."""
