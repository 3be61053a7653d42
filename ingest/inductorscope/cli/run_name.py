"""The default name of a run."""

from pathlib import Path


def name_of(paths: list[Path]) -> str:
    """Returns the name of the first path, without the extension of an archive.

    If every debug folder has that name, it is the name of the folder above.
    """
    path = paths[0].resolve()
    while path.name in ("torch_compile_debug", "torchinductor", "torch_trace") or (
        path.name.startswith("run_") and path.is_dir()
    ):
        path = path.parent
    name = path.name
    for ending in (".gz", ".xz", ".zst", ".tgz", ".tar", ".zip"):
        name = name.removesuffix(ending)
    return name
