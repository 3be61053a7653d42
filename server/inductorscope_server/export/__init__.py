"""A run as one HTML file that opens without a server and goes back into any."""
