"""Runs `llvm-mca` on a loop of a C++ kernel, which is simulated, never run."""

from __future__ import annotations

import hashlib

from inductorscope.disassembling.limited import NotDisassembled, printed_by
from inductorscope.formats.machine.assembly import Assembly, Loop
from inductorscope.formats.machine.mca import Throughput, loop_text, read_mca

MISSING = (
    "llvm-mca is not installed here, so the loop's cycles are not estimated. It is part of LLVM "
    "(Debian: apt-get install llvm)."
)
OPTIONS = ("-bottleneck-analysis", "-instruction-info=0", "-resource-pressure=0")


def throughput(code: Assembly, loop: Loop) -> tuple[Throughput | None, str]:
    """Estimates the cost of an iteration; also returns the processor that it is for. Raises
    NotDisassembled."""
    text, cpu = loop_text(code, loop)
    if not text:
        raise NotDisassembled("The loop is too long to estimate its cycles.")
    content = text.encode()
    digest = hashlib.sha256(content).hexdigest()
    options = (f"-mcpu={cpu}", *OPTIONS)
    return read_mca(printed_by(["llvm-mca"], MISSING, content, digest, options, b"")), cpu
