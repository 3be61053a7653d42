"""The pytest plugin, which tests compiles."""
