"""Faults put into Inductor on purpose, so that anybody can see what finding one looks like.

Each module needs torch alone and has `install()`; a model that wants it calls that before it is
compiled. A minified program of such a model carries the module's text, so that it fails by itself.
"""
