"""Pages as Markdown, one renderer for all and shapes for a few."""
