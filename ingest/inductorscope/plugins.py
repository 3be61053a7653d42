"""What other packages add to the tables of this one, by entry points: docs/extending.md."""

from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from inductorscope.errors import USAGE, InWords

VERSION = "0.2"
"""Of the tables: the minor version of Inductorscope in which a table or an entry last changed."""


class PluginError(InWords):
    """A package's entries cannot be used."""

    exit_code = USAGE


def added(table: str, kind: type = FunctionType) -> list[Any]:
    """Returns the entries that packages add to a table, each a `kind`.

    Raises PluginError.
    """
    return [entry for point, module in _modules(table) for entry in _entries(point, module, kind)]


def package_of(table: str, entry: object) -> str:
    """Returns the name and version of the package that adds an entry to a table."""
    added_by = (point for point, module in _modules(table) if entry in getattr(module, point.attr))
    return _package(next(added_by))


def templates() -> list[Path]:
    """Returns the folders with the templates of pages that packages add."""
    return [
        Path(module.__file__).parent / "templates"
        for _, module in _modules("pages")
        if module.__file__ is not None
    ]


@cache
def _modules(table: str) -> list[tuple[EntryPoint, ModuleType]]:
    return [(point, _module(point)) for point in entry_points(group=f"inductorscope.{table}")]


def _module(point: EntryPoint) -> ModuleType:
    try:
        module = import_module(point.module)
    except Exception as error:
        raise _unusable(point, f"{type(error).__name__}: {error}") from error
    written_for = getattr(module, "INDUCTORSCOPE", "")
    if written_for != VERSION:
        has = f'INDUCTORSCOPE = "{written_for}"' if written_for else "no INDUCTORSCOPE"
        raise _unusable(point, f'it has {has}, and "{VERSION}" is needed')
    return module


def _entries(point: EntryPoint, module: ModuleType, kind: type) -> list[Any]:
    entries = getattr(module, point.attr, None)
    if not isinstance(entries, list | tuple):
        raise _unusable(point, f"{point.attr} is no list and no tuple")
    for entry in entries:
        if not isinstance(entry, kind):
            raise _unusable(point, f"{entry!r} in {point.attr} is not a {kind.__name__}")
    return list(entries)


def _unusable(point: EntryPoint, why: str) -> PluginError:
    return PluginError(
        f"{_package(point)} cannot extend Inductorscope. {point.module} ({point.group}): {why}.",
        "Uninstall it, or install a version that fits.",
    )


def _package(point: EntryPoint) -> str:
    return "a package" if point.dist is None else f"{point.dist.name} {point.dist.version}"
