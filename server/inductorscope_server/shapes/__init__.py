"""What pages and their JSON twins answer with, one module a subject.

The structs are what templates get as `page` and what OpenAPI documents: one shape, two faces.
Field names follow the columns of `inductorscope.store.tables.models`.
"""
