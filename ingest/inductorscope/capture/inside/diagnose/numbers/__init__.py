"""Which node computes the first wrong number."""
