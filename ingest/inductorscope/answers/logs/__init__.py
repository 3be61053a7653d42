"""Answers for the pages of log records."""
