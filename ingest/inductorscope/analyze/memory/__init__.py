"""What a wrapper allocates, reuses and frees."""
