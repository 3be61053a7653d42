"""What two runs do differently."""
