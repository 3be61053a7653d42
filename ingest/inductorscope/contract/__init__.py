"""The compile contract: what a compile is, in a file that reviewers read and CI checks."""
