"""What a kernel takes of the machine: registers, occupancy, instructions by kind and line."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields

from sqlalchemy.orm import Session

from inductorscope.analyze.machine.figures import (
    TENSOR,
    Occupancy,
    mix_of,
    occupancy_of,
    widths_of,
)
from inductorscope.analyze.machine.loops import LoopFigures, is_scalar, loops_of
from inductorscope.answers.limits import NotAnalysed
from inductorscope.answers.machine.compiled import Configuration, configurations
from inductorscope.answers.machine.text import KernelLines, Reading, kernel_of, read_stage
from inductorscope.fields import Bytes, Count, Prose
from inductorscope.formats.machine.assembly import Assembly
from inductorscope.formats.machine.cubin import CubinFacts, read_cubin
from inductorscope.formats.machine.places import kernel_lines
from inductorscope.formats.machine.sass import Sass
from inductorscope.formats.vocabulary import ASSEMBLY, SASS
from inductorscope.store.contents.texts import read_blob
from inductorscope.store.tables.models import Graph, JsonObject

MOST_LINES = 40
MOST_LOOPS = 12


@dataclass(frozen=True, slots=True)
class ConfigurationFigures:
    """One configuration that Triton compiled."""

    key: str
    """The name of its folder in Triton's cache."""
    ran: bool
    options: JsonObject
    registers: int
    """Of a thread, as compiled; 0 if unknown."""
    local: Bytes
    """Bytes of local memory of a thread: the program's arrays, and registers that it spills."""
    shared: Bytes
    """Bytes of shared memory of a block."""
    occupancy: Occupancy | None


@dataclass(slots=True)
class LineFigures:
    """What a line of the kernel takes."""

    line: int
    """Of the output code."""
    text: str
    nodes: list[str]
    instructions: int = 0
    live: Count[int] = 0
    """Live registers where most are live."""
    spills: int = 0
    """Instructions that keep a register in local memory, or load it back."""


@dataclass(frozen=True, slots=True)
class KernelMachine:
    """What Triton compiled of a kernel, in figures."""

    configurations: list[ConfigurationFigures]
    """The one that ran first, if it is known."""
    instructions: int = 0
    placed: int = 0
    """Instructions whose line in the kernel is known."""
    mix: dict[str, int] = field(default_factory=dict)
    """Kind → instructions; they sum to `instructions`."""
    tensor: int = 0
    spills: int = 0
    widths: dict[int, int] = field(default_factory=dict)
    """Bits a thread moves at once → loads and stores of global memory."""
    live: Count[int] = 0
    lines: list[LineFigures] = field(default_factory=list)
    """Those that spill first, then by instructions; an instruction of a line that was inlined in
    several places counts for the first."""
    missing: Prose = ""
    """Why there are no instructions."""


@dataclass(frozen=True, slots=True)
class InnermostLoop(LoopFigures):
    """An innermost loop of a C++ kernel."""

    lines: tuple[int, int] | None = None
    """First and last line of the output code that it computes; None without line tables."""
    scalar: bool = False
    """Whether it computes floating-point numbers one by one."""


@dataclass(frozen=True, slots=True)
class KernelAssembly:
    """The instructions of a C++ kernel, in figures."""

    instructions: int = 0
    placed: int = 0
    loops: list[InnermostLoop] = field(default_factory=list)
    """The deepest first, then by instructions."""
    lines: list[LineFigures] = field(default_factory=list)
    """Those that use the stack most first, then by instructions."""
    missing: Prose = ""
    """Why there are no instructions, or no lines."""


def kernel_assembly(session: Session, graph: Graph, kernel: str) -> KernelAssembly | None:
    """None if its library did not come with the run."""
    known = configurations(session, graph).get(kernel)
    if not known or ASSEMBLY not in known[0].files:
        return None
    try:
        reading = read_stage(session, known[0], ASSEMBLY)
    except NotAnalysed as error:
        return KernelAssembly(missing=str(error))
    located = reading.located
    assert isinstance(located, Assembly)
    code = kernel_of(session, graph, kernel)
    own = [
        lines[-1] if (lines := kernel_lines(frames, known[0].source)) else 0
        for frames in located.places
    ]
    loops = []
    for loop, figures in loops_of(located)[:MOST_LOOPS]:
        within = {own[at] for number in loop.lines if (at := located.at[number]) >= 0} - {0}
        lines = list(map(code.line, within))
        values = {each.name: getattr(figures, each.name) for each in fields(LoopFigures)}
        loops.append(
            InnermostLoop(
                **values,
                lines=(min(lines), max(lines)) if lines else None,
                scalar=is_scalar(figures.vectors),
            )
        )
    return KernelAssembly(
        *located.instructions(), loops, _by_line(reading, code)[:MOST_LINES], reading.note
    )


def kernel_machine(session: Session, graph: Graph, kernel: str) -> KernelMachine | None:
    """None if nothing came that Triton compiled of it."""
    known = configurations(session, graph).get(kernel)
    if not known or ASSEMBLY in known[0].files:
        return None
    rows = [_figures(session, each) for each in known]
    try:
        reading = read_stage(session, known[0], SASS)
    except NotAnalysed as error:
        return KernelMachine(rows, missing=str(error))
    sass = reading.located
    assert isinstance(sass, Sass)
    lines = _by_line(reading, kernel_of(session, graph, kernel))
    operations = [operation for operation in sass.operations if operation]
    mix = mix_of(operations)
    return KernelMachine(
        rows,
        *sass.instructions(),
        mix,
        mix.get(TENSOR, 0),
        sum(reading.spills),
        widths_of(operations),
        max(reading.live, default=0),
        lines[:MOST_LINES],
    )


def _by_line(reading: Reading, code: KernelLines) -> list[LineFigures]:
    lines: dict[int, LineFigures] = {}
    located, source = reading.located, reading.configuration.source
    live = reading.live or [0] * len(located.at)
    for at, counted, alive, spilled in zip(
        located.at, located.counted, live, reading.spills, strict=True
    ):
        own = kernel_lines(located.places[at], source) if at >= 0 and counted else []
        if not own or own[-1] > len(code.text):
            continue
        line = code.line(own[-1])
        found = lines.get(line)
        if found is None:
            text = code.text[own[-1] - 1].strip()
            found = lines[line] = LineFigures(line, text, sorted(code.nodes_of(line)))
        found.instructions += 1
        found.live = max(found.live, alive)
        found.spills += spilled
    return sorted(lines.values(), key=lambda each: (-each.spills, -each.instructions, each.line))


def _figures(session: Session, configuration: Configuration) -> ConfigurationFigures:
    file = configuration.files.get(SASS)
    facts = CubinFacts() if file is None else read_cubin(read_blob(session, file.digest) or b"")
    values = Counter(
        {name: value for name, value in configuration.options.items() if isinstance(value, int)}
    )
    return ConfigurationFigures(
        configuration.key,
        configuration.ran,
        configuration.options,
        facts.registers,
        facts.local,
        values["shared"],
        occupancy_of(configuration.arch, values["num_warps"], facts.registers, values["shared"]),
    )
