"""Files of uploads on disk."""
