"""What the ranks of one job did differently, and which of them comes late."""
