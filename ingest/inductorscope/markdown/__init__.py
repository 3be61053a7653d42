"""Answers as Markdown, for issues, terminals and coding agents."""
