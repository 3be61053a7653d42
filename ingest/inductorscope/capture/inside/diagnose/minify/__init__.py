"""The smallest program that fails."""
