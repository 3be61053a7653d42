"""The work of jobs, which their child processes do."""
