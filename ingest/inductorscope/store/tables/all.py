"""Imports all tables of a database, which registers them."""

from importlib import import_module
from pkgutil import iter_modules

from inductorscope.store import tables
from inductorscope.store.tables.models import Base

for module in iter_modules(tables.__path__):
    import_module(f"{tables.__name__}.{module.name}")

TABLES = Base.metadata
