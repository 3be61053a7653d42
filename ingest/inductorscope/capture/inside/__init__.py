"""What runs inside a capture's child process. Nothing else may import these modules."""
