"""Code of a capture's child process. Nothing else may import these modules."""
