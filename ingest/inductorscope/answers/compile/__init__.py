"""Answers for the pages about compiling."""
