"""What the child process of a job does."""
