"""Commands that print answers as text."""
