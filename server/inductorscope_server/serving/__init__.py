"""Serving many clients: connections, turns, and the health of the process."""
