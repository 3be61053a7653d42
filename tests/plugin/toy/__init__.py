"""A package that adds one entry to each table: docs/extending.md."""
