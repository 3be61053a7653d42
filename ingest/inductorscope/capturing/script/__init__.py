"""Captures a script as it is: it runs in its own process, and a module inside it observes."""
