"""Disassembles compiled files: their instructions, and which of them spill."""

from inductorscope.analyze.machine.figures import family_of
from inductorscope.analyze.machine.loops import kind_of, on_stack
from inductorscope.answers.missing import NotAnalysed
from inductorscope.disassembling.limited import NotDisassembled
from inductorscope.disassembling.tools import LINES, LIVE, assembly_of, sass_of
from inductorscope.formats.machine.assembly import Assembly, read_assembly
from inductorscope.formats.machine.places import Located
from inductorscope.formats.machine.ptx import arrays_of
from inductorscope.formats.machine.sass import Sass, joined_live, read_live, read_sass, spills_of


def read_code(cubin: bytes, digest: str, ptx: str) -> tuple[Sass, list[int], list[bool]]:
    """Disassembles a cubin. Also returns the number of live registers at each line, or nothing if
    nvdisasm cannot work them out, as for kernels that are too long. `ptx`: its text, empty if
    unknown. Raises NotAnalysed."""
    try:
        sass = read_sass(sass_of(cubin, digest, LINES))
    except NotDisassembled as error:
        raise NotAnalysed(str(error)) from None
    try:
        live = joined_live(sass, read_live(sass_of(cubin, digest, LIVE)))
    except NotDisassembled:
        live = []
    return sass, live, spills_of(sass, arrays_of(ptx))


def read_library(library: bytes, digest: str) -> tuple[Assembly, list[bool]]:
    """Disassembles a C++ kernel's library. Raises NotAnalysed."""
    try:
        code = read_assembly(assembly_of(library, digest))
    except NotDisassembled as error:
        raise NotAnalysed(str(error)) from None
    return code, list(map(on_stack, code.operations, code.operands))


def kinds_of(located: Located) -> list[str]:
    """Returns the kind of each instruction; other lines get an arbitrary kind."""
    if isinstance(located, Sass):
        return list(map(family_of, located.operations))
    if isinstance(located, Assembly):
        return list(map(kind_of, located.operations, located.operands))
    return ["instructions"] * len(located.lines)
