"""Runs `nvdisasm` on a cubin. Uploaded kernels are only disassembled, never run."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path

from inductorscope.disassembling.limited import printed_by

LINES = ("-gi", "-c")
LIVE = ("-lrm", "count", "-c")
MISSING = (
    "nvdisasm is not installed here, so machine code is not shown. "
    "pip install 'inductorscope[machine]' installs it, and Triton and the CUDA toolkit contain it."
)
_PACKAGES = (("nvidia", "*/bin/nvdisasm"), ("triton", "backends/nvidia/bin/nvdisasm"))


@cache
def programs() -> tuple[str, ...]:
    """Lists the places of nvdisasm: the package nvidia-cuda-nvdisasm, the PATH, Triton. An older
    nvdisasm cannot read what a newer assembler wrote."""
    nvidia, triton = (_in_package(*each) for each in _PACKAGES)
    return *nvidia, "nvdisasm", *triton


def _in_package(package: str, pattern: str) -> list[str]:
    spec = importlib.util.find_spec(package)
    folders = (spec.submodule_search_locations or ()) if spec is not None else ()
    paths = [str(path) for folder in folders for path in Path(folder).glob(pattern)]
    return sorted(paths, reverse=True)


def printed(cubin: bytes, digest: str, options: tuple[str, ...]) -> str:
    """Returns nvdisasm's output for a cubin; kept by the cubin's digest. Raises NotDisassembled."""
    return printed_by(programs(), MISSING, cubin, digest, options)
