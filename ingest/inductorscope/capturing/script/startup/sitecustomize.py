"""Observes a captured script. Python imports this module at start, from the folder in PYTHONPATH.

It waits until the program imports torch, so it costs nothing in a program that never does, or that
fails earlier.
"""

import gc
import importlib
import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

OBSERVED = ("torch", "torch._dynamo", "torch._inductor.cudagraph_trees")
OWN_PROGRAMS = ("torch._inductor.compile_worker",)
"""Programs that torch starts to compile kernels; they are not observed."""


class AfterImport(MetaPathFinder):
    """Tells the observer when a module has been imported."""

    def __init__(self) -> None:
        self._left = set(OBSERVED)

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in self._left:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            collects = gc.isenabled()
            gc.disable()  # collections take a quarter of the time of importing torch
            try:
                execute(module)
            finally:
                if collects:
                    gc.enable()
            self._left.discard(name)  # not before: transformers looks for torch without importing
            _tell(name)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _tell(name: str) -> None:
    """Tells the observer; an error here must not fail the script."""
    try:
        from inductorscope.capturing.script import observer

        observer.imported(name)
    except Exception as error:  # noqa: BLE001  # another torch may differ in any way
        print(f"The capture cannot observe {name}: {error!r}", file=sys.stderr)


def _import_another() -> None:
    """Imports the sitecustomize that this one hides, if there is one."""
    own = Path(__file__).resolve().parent
    sys.path[:] = [path for path in sys.path if Path(path).resolve() != own]
    mine = sys.modules.pop("sitecustomize", None)
    try:
        importlib.import_module("sitecustomize")
    except ModuleNotFoundError as error:
        if error.name != "sitecustomize":
            raise
        if mine is not None:
            sys.modules["sitecustomize"] = mine


if "SCOPE_OBSERVE" in os.environ and not any(word in sys.orig_argv for word in OWN_PROGRAMS):
    sys.meta_path.insert(0, AfterImport())
_import_another()
