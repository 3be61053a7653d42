"""Starting child processes and ending them."""
