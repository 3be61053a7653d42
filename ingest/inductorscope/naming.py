"""What a run is called when nobody says."""

from __future__ import annotations

from pathlib import Path


def name_of(paths: list[Path]) -> str:
    """The first path's name without the endings of archives; of the folder above, where the path's
    own name is one that every debug folder has."""
    path = paths[0].resolve()
    while path.name in ("torch_compile_debug", "torchinductor", "torch_trace") or (
        path.name.startswith("run_") and path.is_dir()
    ):
        path = path.parent
    name = path.name
    for ending in (".gz", ".xz", ".zst", ".tgz", ".tar", ".zip"):
        name = name.removesuffix(ending)
    return name
