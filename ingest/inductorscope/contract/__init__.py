"""The compile contract: a file that says what a compile is, for reviewers to read and CI to
check."""
