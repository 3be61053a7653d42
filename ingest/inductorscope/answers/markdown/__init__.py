"""Pages as Markdown: one renderer for all, and special layouts for a few."""
