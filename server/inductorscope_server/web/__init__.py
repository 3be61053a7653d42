"""The web application: routing, errors, security and static files."""
