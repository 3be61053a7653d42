"""Deliberate faults in Inductor, to demonstrate how a fault is located.

Each module needs only torch and has `install()`, which a model calls before it is compiled. A
minified program of such a model includes the module's text, so that it fails on its own.
"""
