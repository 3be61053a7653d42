"""Pages as one HTML file that opens without a server; a whole run goes back into any."""
