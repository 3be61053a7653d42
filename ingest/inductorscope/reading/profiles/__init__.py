"""Reading profiles, and joining them to graphs."""
