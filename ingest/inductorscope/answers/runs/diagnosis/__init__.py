"""What to change first: the causes that cost a run most."""
