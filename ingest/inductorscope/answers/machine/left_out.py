"""A kernel's resources with and without the operation of a line, as compiled here."""

import hashlib
from pathlib import Path

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.analyze.machine.loops import loops_of
from inductorscope.answers.explorer.benchmark import LEFT_OUT
from inductorscope.answers.machine.code import read_code, read_library
from inductorscope.answers.missing import NotAnalysed
from inductorscope.fields import Count, Prose
from inductorscope.formats.machine.cubin import read_cubin
from inductorscope.formats.vocabulary import ASSEMBLY, OF_KERNELS, PTX, SASS
from inductorscope.store.database.once import once
from inductorscope.store.tables.diagnoses import KernelBenchmark


class Taken(msgspec.Struct, frozen=True):
    """The resources that a compiled kernel uses."""

    instructions: int
    spills: int
    """In a C++ kernel, instructions that move a register to or from the stack."""
    registers: int | None = None
    """Registers of one thread of a GPU."""
    live: Count[int] = 0
    """The most registers that are live at one time."""
    loops: int | None = None
    """Innermost loops of a C++ kernel."""
    scalar: int = 0
    """Those loops that compute floating-point numbers one by one."""


class LeftOut(msgspec.Struct, frozen=True):
    """A line whose operation was left out."""

    without: int
    """The line of the output code."""
    text: str
    instead: str
    """The code that was compiled in its place."""
    configuration: str = ""
    """For a Triton kernel: block sizes and number of warps."""
    before: Taken | None = None
    after: Taken | None = None
    missing: Prose = ""
    """Why one of the two results is unknown."""
    job_id: str = ""
    """The job that compiled it."""


def resources_of(cache: Path, key: str) -> Taken:
    """Returns the resources of a kernel compiled into a folder. `key`: the configuration's folder
    in Triton's cache, or nothing for a C++ kernel. Raises NotAnalysed."""
    pattern = f"**/{key}/*{OF_KERNELS[SASS]}" if key else f"*/*{OF_KERNELS[ASSEMBLY]}"
    file = next(iter(sorted(cache.glob(pattern))), None)
    if file is None:
        raise NotAnalysed("The compiler left no machine code that can be read here.")
    content = file.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    if not key:
        code, spills = read_library(content, digest)
        loops = [figures for _, figures in loops_of(code)]
        scalar = sum(loop.scalar for loop in loops)
        count, _ = code.instructions()
        return Taken(count, sum(spills), loops=len(loops), scalar=scalar)
    ptx = file.with_suffix(OF_KERNELS[PTX])
    text = ptx.read_text("utf-8", "replace") if ptx.is_file() else ""
    sass, live, spills = read_code(content, digest, text)
    count, _ = sass.instructions()
    return Taken(count, sum(spills), read_cubin(content).registers, max(live, default=0))


@once
def left_out_of(session: Session, graph_id: int, kernel: str) -> list[LeftOut]:
    """Returns the newest result for each line."""
    query = (
        select(KernelBenchmark)
        .where(KernelBenchmark.graph_id == graph_id, KernelBenchmark.kernel == kernel, LEFT_OUT)
        .order_by(KernelBenchmark.created_at, KernelBenchmark.id)
    )
    rows = {
        row.result["without"]: msgspec.convert(row.result | {"job_id": row.job_id}, LeftOut)
        for row in session.scalars(query)
    }
    return list(rows.values())


def in_words(found: LeftOut) -> str:
    """Describes what changes without the operation."""
    before, after = found.before, found.after
    if before is None or after is None:
        reason, _, _ = found.missing.partition("\n")
        return f"Line {found.without}: {reason}"
    parts = [
        f"{a} → {b} {name}"
        for name, a, b in (
            ("registers", before.registers, after.registers),
            ("spills", before.spills, after.spills),
            ("scalar loops", before.scalar, after.scalar),
            ("instructions", before.instructions, after.instructions),
        )
        if a is not None and b is not None and (a or b)
    ]
    return f"Without the operation of line {found.without}: {', '.join(parts)}."
