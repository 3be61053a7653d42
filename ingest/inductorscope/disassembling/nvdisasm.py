"""Runs `nvdisasm` on a cubin. What is uploaded is only disassembled, never run."""

from __future__ import annotations

import importlib.util
import os
import shutil
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
def nvdisasm() -> str | None:
    """Where the program is: of the package nvidia-cuda-nvdisasm, of Triton, or on the PATH."""
    for package, pattern in _PACKAGES:
        spec = importlib.util.find_spec(package)
        for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
            for path in sorted(Path(folder).glob(pattern), reverse=True):
                if os.access(path, os.X_OK):
                    return str(path)
    return shutil.which("nvdisasm")


def printed(cubin: bytes, digest: str, options: tuple[str, ...]) -> str:
    """What nvdisasm prints of a cubin; kept by its digest. Raises NotDisassembled."""
    return printed_by(nvdisasm(), MISSING, cubin, digest, options)
