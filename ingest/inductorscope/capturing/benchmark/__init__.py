"""Runs a kernel's test case in a child process."""
