"""The programs that print machine code: nvdisasm, objdump, llvm-mca. Uploaded kernels are only
disassembled, never loaded or run, and loops are simulated."""

import hashlib
import importlib.util
from functools import cache
from pathlib import Path

from inductorscope.disassembling.limited import NotDisassembled, printed_by
from inductorscope.formats.machine.assembly import Assembly, Loop
from inductorscope.formats.machine.mca import Throughput, loop_text, read_mca

LINES = ("-gi", "-c")
LIVE = ("-lrm", "count", "-c")
_NO_NVDISASM = (
    "nvdisasm is not installed here, so machine code is not shown. "
    "pip install 'inductorscope[machine]' installs it, and Triton and the CUDA toolkit contain it."
)
_PACKAGES = (("nvidia", "*/bin/nvdisasm"), ("triton", "backends/nvidia/bin/nvdisasm"))
_OF_LIBRARY = ("-d", "-l", "--inlines", "--no-show-raw-insn")
_NO_OBJDUMP = (
    "objdump is not installed here, so machine code is not shown. It is part of binutils, "
    "which come with g++."
)
_OF_LOOP = ("-bottleneck-analysis", "-instruction-info=0", "-resource-pressure=0")


@cache
def nvdisasms() -> tuple[str, ...]:
    """Lists the places of nvdisasm: the package nvidia-cuda-nvdisasm, the PATH, Triton. An older
    nvdisasm cannot read what a newer assembler wrote."""
    nvidia, triton = (_in_package(*package) for package in _PACKAGES)
    return *nvidia, "nvdisasm", *triton


def _in_package(package: str, pattern: str) -> list[str]:
    spec = importlib.util.find_spec(package)
    folders = (spec.submodule_search_locations or ()) if spec is not None else ()
    paths = [str(path) for folder in folders for path in Path(folder).glob(pattern)]
    return sorted(paths, reverse=True)


def sass_of(cubin: bytes, digest: str, options: tuple[str, ...]) -> str:
    """Returns nvdisasm's output for a cubin; kept by the cubin's digest. Raises NotDisassembled."""
    return printed_by(nvdisasms(), _NO_NVDISASM, cubin, digest, options)


def assembly_of(library: bytes, digest: str) -> str:
    """Returns the instructions of a library with their lines; kept by the library's digest. Raises
    NotDisassembled."""
    return printed_by(["objdump"], _NO_OBJDUMP, library, digest, _OF_LIBRARY)


def throughput(code: Assembly, loop: Loop) -> tuple[Throughput | None, str]:
    """Estimates the cost of an iteration; also returns the processor that it is for. Raises
    NotDisassembled, with no sentence where llvm-mca is not installed."""
    text, cpu = loop_text(code, loop)
    if not text:
        raise NotDisassembled("The loop is too long to estimate its cycles.")
    content = text.encode()
    digest = hashlib.sha256(content).hexdigest()
    options = (f"-mcpu={cpu}", *_OF_LOOP)
    return read_mca(printed_by(["llvm-mca"], "", content, digest, options, b"")), cpu
