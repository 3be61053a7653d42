"""The web application: routing, security, templates and static files."""
