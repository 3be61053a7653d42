"""What the API offers besides the pages' twins."""
