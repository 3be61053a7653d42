"""Programs whose line truth is recorded to judge inferred links by. See README.md."""
