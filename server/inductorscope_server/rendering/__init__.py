"""Answers as HTML, by templates, and as Markdown."""
