"""Runs `objdump` on the library of a C++ kernel, which is only disassembled, never loaded."""

from __future__ import annotations

from inductorscope.disassembling.limited import printed_by

OPTIONS = ("-d", "-l", "--inlines", "--no-show-raw-insn")
MISSING = (
    "objdump is not installed here, so machine code is not shown. It is part of binutils, "
    "which come with g++."
)


def disassembled(library: bytes, digest: str) -> str:
    """Returns the instructions of a library with their lines; kept by the library's digest. Raises
    NotDisassembled."""
    return printed_by(["objdump"], MISSING, library, digest, OPTIONS)
